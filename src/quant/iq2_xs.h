// iq2_xs: 256 elements in 16 groups of 16; 8 elements are an entry of a grid of 512, with signs:
// x = d * (scale + 1/2) / 4 * sign * grid.
// Source: block_iq2_xs in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockIQ2_XS {
  static constexpr size_t kElements = 256;
  static constexpr uint8_t kMaxCode = 43;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;         // f16
  uint16_t qs[32];    // entry of elements 8i .. 8i + 7 in 9 bits, their signs in 7 (even_signs)
  uint8_t scales[8];  // group j in nibble j
};
static_assert(sizeof(BlockIQ2_XS) == 74);

void read_unit(const BlockIQ2_XS& block, uint32_t u, UnitCodes& out);

}  // namespace puna::quant
