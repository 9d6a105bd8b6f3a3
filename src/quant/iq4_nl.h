// iq4_nl: 32 elements, one scale, 4 bits each that name one of 16 values: x = d * kIq4Values[q].
// Source: block_iq4_nl and kvalues_iq4nl in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};

struct BlockIQ4_NL {
  static constexpr size_t kElements = 32;
  static constexpr uint8_t kMaxCode = 127;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;      // f16
  uint8_t qs[16];  // byte j: element j in the low nibble, j + 16 in the high
};
static_assert(sizeof(BlockIQ4_NL) == 18);

void read_unit(const BlockIQ4_NL& block, uint32_t u, UnitCodes& out);
void encode(const float* in, BlockIQ4_NL& block);

}  // namespace puna::quant
