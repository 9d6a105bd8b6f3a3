// q3_k: 256 elements in 16 groups of 16, 3 bits each: x = d * (scale - 32) * (q - 4).
// Source: block_q3_K in ggml.
#pragma once

#include "quant/block.h"

namespace puna::quant {

struct BlockQ3_K {
  static constexpr size_t kElements = 256;
  static constexpr uint16_t kHalves[] = {108};  // where f16 fields lie
  static TypePlanes planes();
  uint8_t hmask[32];   // bit 4n + s of byte l: third bit of element 128n + 32s + l
  uint8_t qs[64];      // low two bits, as in q2_k
  uint8_t scales[12];  // group j: low four bits in byte j mod 8 (nibble j / 8), top two in byte 8 +
                       // j mod 4 (pair j / 4)
  uint16_t d;          // f16
};
static_assert(sizeof(BlockQ3_K) == 110);

void decode(const BlockQ3_K& block, float* out);
void encode(const float* in, BlockQ3_K& block);

}  // namespace puna::quant
