#include "quant/iq2_xs.h"

#include "quant/grids.h"

namespace puna::quant {

void read_unit(const BlockIQ2_XS& block, uint32_t u, UnitCodes& out) {
  for (uint32_t l = 0; l < 4; ++l) {
    const uint32_t entry = block.qs[4 * u + l];
    put_signed(kIq2XsGrid[entry & 511], kEvenSignMasks[entry >> 9], out.code + 8 * l);
  }
  const float d = base::f16_to_f32(block.d);
  for (int h = 0; h < 2; ++h) {
    const int scale = block.scales[u] >> (4 * h) & 15;
    out.scale[h] = d * (0.5f + static_cast<float>(scale)) * 0.25f;
  }
}

}  // namespace puna::quant
