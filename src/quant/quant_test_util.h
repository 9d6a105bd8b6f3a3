// What the tests of the block types share: random blocks and the comparison of decode with a
// per-element formula.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

inline float half(uint16_t bits) { return base::f16_to_f32(bits); }

// A block of random bytes whose f16 fields, at the given byte offsets, hold finite values: of every
// fourth block subnormal ones.
template <class Block>
Block random_block(std::mt19937& random, std::initializer_list<size_t> f16_offsets) {
  std::byte bytes[sizeof(Block)];
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  const bool subnormal = random() % 4 == 0;
  for (const size_t offset : f16_offsets) {
    uint16_t h = static_cast<uint16_t>(random());
    if (subnormal) h &= 0x83ff;
    if ((h & 0x7c00) == 0x7c00) h &= 0xbfff;
    std::memcpy(bytes + offset, &h, 2);
  }
  return load_block<Block>(bytes, 0);
}

// Compares decode() with `element(block, e)`, the value of element e straight from the format's
// description, bit for bit.
template <class Block, class Element>
void check_decode(std::initializer_list<size_t> f16_offsets, Element element) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const Block block = random_block<Block>(random, f16_offsets);
    float out[Block::kElements];
    if constexpr (requires(UnitCodes& unit) { read_unit(block, 0, unit); }) {
      decode_by_units(block, out);
    } else {
      decode(block, out);
    }
    for (int e = 0; e < static_cast<int>(Block::kElements); ++e) {
      REQUIRE(std::bit_cast<uint32_t>(out[e]) ==
              std::bit_cast<uint32_t>(static_cast<float>(element(block, e))));
    }
  }
}

}  // namespace puna::quant
