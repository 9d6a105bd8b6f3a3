// iq2_xxs: 256 elements in 8 groups of 32; 8 elements are an entry of a grid of 256, with signs:
// x = d * (scale + 1/2) / 4 * sign * grid.
// Source: block_iq2_xxs in ggml.
#pragma once

#include "quant/block.h"
#include "quant/unit.h"

namespace puna::quant {

struct BlockIQ2_XXS {
  static constexpr size_t kElements = 256;
  static constexpr uint8_t kMaxCode = 43;
  static constexpr uint16_t kHalves[] = {0};  // where f16 fields lie
  static TypePlanes planes();
  uint16_t d;      // f16
  uint8_t qs[64];  // 8 bytes for each group: four entries, then a word with the signs of 8 elements
                   // in 7 bits at 7l (even_signs), and the scale at 28
};
static_assert(sizeof(BlockIQ2_XXS) == 66);

void read_unit(const BlockIQ2_XXS& block, uint32_t u, UnitCodes& out);

}  // namespace puna::quant
