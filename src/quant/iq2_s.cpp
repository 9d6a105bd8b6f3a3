#include "quant/iq2_s.h"

#include "quant/grids.h"

namespace puna::quant {

void read_unit(const BlockIQ2_S& block, uint32_t u, UnitCodes& out) {
  for (uint32_t l = 0; l < 4; ++l) {
    const uint32_t top = block.qh[u] >> (2 * l) & 3;
    put_signed(kIq2SGrid[block.qs[4 * u + l] | top << 8], kSignMasks[block.signs[4 * u + l]],
               out.code + 8 * l);
  }
  const float d = base::f16_to_f32(block.d);
  for (int h = 0; h < 2; ++h) {
    const int scale = block.scales[u] >> (4 * h) & 15;
    out.scale[h] = d * (0.5f + static_cast<float>(scale)) * 0.25f;
  }
}

}  // namespace puna::quant
