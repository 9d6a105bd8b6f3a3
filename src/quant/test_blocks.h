// Pseudo-random blocks that tools/compare_decoding.py makes too.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "quant/quant.h"

namespace puna::quant {

// Where the high bytes of a block's f16 (or f32) fields lie; their top exponent bit is cleared, so
// that scales are finite.
inline std::vector<uint32_t> half_bytes(const TypeInfo& type) {
  switch (type.type) {
    case Type::kQ4_1:
    case Type::kQ5_1:
    case Type::kQ4_K:
    case Type::kQ5_K:
      return {1, 3};
    case Type::kQ2_K:
      return {81, 83};
    case Type::kQ3_K:
    case Type::kQ6_K:
    case Type::kIQ1_M:
    case Type::kTQ1_0:
    case Type::kTQ2_0:
      return {type.block_bytes - 1};
    case Type::kQ4F32_1:
      return {3};
    case Type::kMXFP4:
    case Type::kNVFP4:
      return {};
    default:
      return {1};
  }
}

// Bytes are the top ones of a 64-bit linear congruential generator (Knuth's MMIX constants) that
// starts at the type's GGUF id.
inline std::vector<std::byte> test_blocks(const TypeInfo& type, size_t n_blocks) {
  std::vector<std::byte> blocks(n_blocks * type.block_bytes);
  uint64_t state = type.gguf_id;
  for (std::byte& b : blocks) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    b = static_cast<std::byte>(state >> 56);
  }
  for (size_t block = 0; block < n_blocks; ++block) {
    for (const uint32_t at : half_bytes(type))
      blocks[block * type.block_bytes + at] &= std::byte{0xbf};
  }
  return blocks;
}

}  // namespace puna::quant
