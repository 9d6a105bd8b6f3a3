// q4_1: 32 elements, scale and minimum, 4 bits each: x = d * q + m.
// Source: block_q4_1 in ggml.
#pragma once

#include "quant/block.h"

namespace puna::quant {

struct BlockQ4_1 {
  static constexpr size_t kElements = 32;
  static constexpr uint16_t kHalves[] = {0, 2};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;      // f16
  uint16_t m;      // f16
  uint8_t qs[16];  // byte j: element j in the low nibble, j + 16 in the high
};
static_assert(sizeof(BlockQ4_1) == 20);

void decode(const BlockQ4_1& block, float* out);
void encode(const float* in, BlockQ4_1& block);

}  // namespace puna::quant
