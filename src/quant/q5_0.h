// q5_0: 32 elements, one scale, 5 bits each: x = d * (q - 16).
// Source: block_q5_0 in ggml.
#pragma once

#include "quant/block.h"

namespace puna::quant {

struct BlockQ5_0 {
  static constexpr size_t kElements = 32;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;      // f16
  uint8_t qh[4];   // bit j of the 32: fifth bit of element j
  uint8_t qs[16];  // byte j: low four bits of element j in the low nibble, of j + 16 in the high
};
static_assert(sizeof(BlockQ5_0) == 22);

void decode(const BlockQ5_0& block, float* out);
void encode(const float* in, BlockQ5_0& block);

}  // namespace puna::quant
