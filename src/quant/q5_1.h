// q5_1: 32 elements, scale and minimum, 5 bits each: x = d * q + m.
// Source: block_q5_1 in ggml.
#pragma once

#include "quant/block.h"

namespace puna::quant {

struct BlockQ5_1 {
  static constexpr size_t kElements = 32;
  static constexpr uint16_t kHalves[] = {0, 2};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;      // f16
  uint16_t m;      // f16
  uint8_t qh[4];   // bit j of the 32: fifth bit of element j
  uint8_t qs[16];  // byte j: low four bits of element j in the low nibble, of j + 16 in the high
};
static_assert(sizeof(BlockQ5_1) == 24);

void decode(const BlockQ5_1& block, float* out);
void encode(const float* in, BlockQ5_1& block);

}  // namespace puna::quant
