// q5_k: 256 elements in 8 groups of 32, 5 bits each: x = d * scale * q - dmin * min.
// Source: block_q5_K in ggml.
#pragma once

#include "quant/block.h"

namespace puna::quant {

struct BlockQ5_K {
  static constexpr size_t kElements = 256;
  static constexpr uint16_t kHalves[] = {0, 2};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;          // f16
  uint16_t dmin;       // f16
  uint8_t scales[12];  // 8 scales and 8 mins of 6 bits: k_scales.h
  uint8_t qh[32];      // bit j of byte l: fifth bit of element 32j + l
  uint8_t qs[128];     // low four bits, as in q4_k
};
static_assert(sizeof(BlockQ5_K) == 176);

void decode(const BlockQ5_K& block, float* out);
void encode(const float* in, BlockQ5_K& block);

}  // namespace puna::quant
