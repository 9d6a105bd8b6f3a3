// Helpers shared by the block types. A file's bytes need not be aligned, so blocks are copied out
// and back.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace puna::quant {

struct TypePlanes;  // planes.h

static_assert(std::endian::native == std::endian::little, "block layouts are little-endian");

template <class Block>
Block load_block(const std::byte* blocks, size_t idx) {
  Block block;
  std::memcpy(&block, blocks + idx * sizeof(Block), sizeof(Block));
  return block;
}

template <class Block>
void store_block(const Block& block, std::byte* blocks, size_t idx) {
  std::memcpy(blocks + idx * sizeof(Block), &block, sizeof(Block));
}

// x to the nearest integer (ties to even), limited to lo..hi; NaN gives lo. For |lo|, |hi| below
// 2^22.
inline int round_clamp(float x, int lo, int hi) {
  x = x > static_cast<float>(lo) ? x : static_cast<float>(lo);
  x = x < static_cast<float>(hi) ? x : static_cast<float>(hi);
  // At 1.5 * 2^23 the mantissa counts whole numbers, so the addition rounds.
  return std::bit_cast<int32_t>(x + 12582912.0f) - 0x4b400000;
}

// The nearest finite half: scales must not become infinite, or every element of the block would.
inline uint16_t to_finite_f16(float x) {
  if (!(x == x)) return 0;
  return base::f32_to_f16(std::clamp(x, -65504.0f, 65504.0f));
}

// Of the power of two at or below |x|; far below all for 0.
inline int scale_exponent(float x) { return x == 0 ? -100 : std::ilogb(x); }

// 1 / x, or 0 where that is not finite: an all-zero block has scale 0.
inline float safe_inverse(float x) {
  const float inverse = 1.0f / x;
  return x != 0.0f && inverse - inverse == 0.0f ? inverse : 0.0f;
}

}  // namespace puna::quant
