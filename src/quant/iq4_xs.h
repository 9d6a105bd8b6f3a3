// iq4_xs: 256 elements in 8 groups of 32, 4 bits each: x = d * (scale - 32) * kIq4Values[q].
// Source: block_iq4_xs in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockIQ4_XS {
  static constexpr size_t kElements = 256;
  static constexpr uint8_t kMaxCode = 127;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;           // f16
  uint16_t scales_h;    // top two bits of group b's scale at bits 2b
  uint8_t scales_l[4];  // low four bits of group b's in nibble b
  uint8_t qs[128];      // group b at 16b, as in iq4_nl
};
static_assert(sizeof(BlockIQ4_XS) == 136);

void read_unit(const BlockIQ4_XS& block, uint32_t u, UnitCodes& out);

}  // namespace puna::quant
