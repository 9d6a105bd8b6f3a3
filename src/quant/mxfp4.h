// mxfp4: 32 elements, one power of two, 4 bits each (e2m1): x = 2^(e - 128) * kFp4Values[q].
// Source: block_mxfp4 in ggml; OCP Microscaling Formats 1.0 (where code 255 of e is NaN; here
// 2^127).
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

// Twice the values of e2m1.
constexpr int8_t kFp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

struct BlockMXFP4 {
  static constexpr size_t kElements = 32;
  static constexpr uint8_t kMaxCode = 12;
  static TypePlanes planes();
  uint8_t e;       // exponent, e8m0
  uint8_t qs[16];  // byte j: element j in the low nibble, j + 16 in the high
};
static_assert(sizeof(BlockMXFP4) == 17);

// 2^(e - 128); the two smallest are subnormal.
inline float mxfp4_scale(uint32_t e) {
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}

void read_unit(const BlockMXFP4& block, uint32_t u, UnitCodes& out);
void encode(const float* in, BlockMXFP4& block);

// For random blocks: the scale, about x.
void set_scale(float x, BlockMXFP4& block);

}  // namespace puna::quant
