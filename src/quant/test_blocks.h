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
  if (type.type == Type::kIQ1_M) return {type.block_bytes - 1};
  if (type.type == Type::kQ4F32_1) return {3};
  std::vector<uint32_t> out;
  for (const uint16_t offset : type.halves) out.push_back(offset + 1u);
  return out;
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
