// q4_k: 256 elements in 8 groups of 32, 4 bits each: x = d * scale * q - dmin * min.
// Source: block_q4_K in ggml.
#pragma once

#include "quant/block.h"

namespace puna::quant {

struct BlockQ4_K {
  static constexpr size_t kElements = 256;
  static constexpr uint16_t kHalves[] = {0, 2};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;          // f16
  uint16_t dmin;       // f16
  uint8_t scales[12];  // 8 scales and 8 mins of 6 bits: k_scales.h
  uint8_t qs[128];     // byte 32c + l: element 64c + l in the low nibble, 64c + 32 + l in the high
};
static_assert(sizeof(BlockQ4_K) == 144);

void decode(const BlockQ4_K& block, float* out);
void encode(const float* in, BlockQ4_K& block);

}  // namespace puna::quant
