// q2_k: 256 elements in 16 groups of 16, 2 bits each: x = d * scale * q - dmin * min.
// Source: block_q2_K in ggml.
#pragma once

#include "quant/block.h"

namespace puna::quant {

struct BlockQ2_K {
  static constexpr size_t kElements = 256;
  static constexpr uint16_t kHalves[] = {80, 82};  // where f16 fields lie
  static TypePlanes planes();
  uint8_t scales[16];  // group j: scale in the low nibble, min in the high
  uint8_t qs[64];      // half n: bits 2s of byte 32n + l are element 128n + 32s + l
  uint16_t d;          // f16
  uint16_t dmin;       // f16
};
static_assert(sizeof(BlockQ2_K) == 84);

void decode(const BlockQ2_K& block, float* out);
void encode(const float* in, BlockQ2_K& block);

}  // namespace puna::quant
