// q4_0: 32 elements, one scale, 4 bits each: x = d * (q - 8).
// Source: block_q4_0 in ggml.
#pragma once

#include "quant/block.h"

namespace puna::quant {

struct BlockQ4_0 {
  static constexpr size_t kElements = 32;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;      // f16
  uint8_t qs[16];  // byte j: element j in the low nibble, j + 16 in the high
};
static_assert(sizeof(BlockQ4_0) == 18);

void decode(const BlockQ4_0& block, float* out);
void encode(const float* in, BlockQ4_0& block);

}  // namespace puna::quant
