// iq3_xxs: 256 elements in 8 groups of 32; 4 elements are an entry of a grid of 256, with signs:
// x = d * (scale + 1/2) / 2 * sign * grid.
// Source: block_iq3_xxs in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockIQ3_XXS {
  static constexpr size_t kElements = 256;
  static constexpr uint8_t kMaxCode = 62;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;         // f16
  uint8_t qs[64];     // entry of elements 4i .. 4i + 3
  uint8_t signs[32];  // a word for each group: signs of 8 elements in 7 bits at 7l (even_signs),
                      // scale at 28
};
static_assert(sizeof(BlockIQ3_XXS) == 98);

void read_unit(const BlockIQ3_XXS& block, uint32_t u, UnitCodes& out);

}  // namespace puna::quant
