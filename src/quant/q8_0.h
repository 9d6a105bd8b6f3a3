// q8_0: 32 elements, one scale, 8 bits each: x = d * q.
// Source: block_q8_0 in ggml.
#pragma once

#include "quant/block.h"

namespace puna::quant {

struct BlockQ8_0 {
  static constexpr size_t kElements = 32;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;  // f16
  int8_t qs[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

void decode(const BlockQ8_0& block, float* out);
void encode(const float* in, BlockQ8_0& block);

}  // namespace puna::quant
