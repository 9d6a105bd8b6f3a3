// q6_k: 256 elements in 16 groups of 16, 6 bits each: x = d * scale * (q - 32).
// Source: block_q6_K in ggml.
#pragma once

#include "quant/block.h"

namespace puna::quant {

struct BlockQ6_K {
  static constexpr size_t kElements = 256;
  static constexpr uint16_t kHalves[] = {208};  // where f16 fields lie
  static TypePlanes planes();
  uint8_t ql[128];    // half n: byte 64n + l: low four bits of 128n + l (low nibble), 128n + 64 + l
                      // (high), l in 0..63
  uint8_t qh[64];     // half n: bits 2s of byte 32n + l: top two bits of element 128n + 32s + l
  int8_t scales[16];  // by group
  uint16_t d;         // f16
};
static_assert(sizeof(BlockQ6_K) == 210);

void decode(const BlockQ6_K& block, float* out);
void encode(const float* in, BlockQ6_K& block);

}  // namespace puna::quant
