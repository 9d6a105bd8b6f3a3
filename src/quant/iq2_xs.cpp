#include "quant/iq2_xs.h"

#include "quant/grids.h"
#include "quant/planes_builder.h"

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

TypePlanes BlockIQ2_XS::planes() {
  PlanesBuilder b(256, "repack/grids.wgsl");
  b.row_plane("is", 16);
  b.group_plane("sc", 8, 64);
  b.group_plane("d4", 2, 16);
  b.field("d4", 0, 16);
  for (uint32_t i = 0; i < 32; ++i) {
    b.field("is", i / 4 * 64 + i % 4 * 8, 8);
    // The ninth bit lies where the eighth sign would be.
    b.field("is", i / 4 * 64 + 32 + order_bit(i % 4 * 8 + 7), 1);
    b.signs("is", i, 7, 64, 32);
  }
  b.words("sc", 0, 2);
  b.grid(iq2_words(kIq2XsGrid));
  return b.take();
}

}  // namespace puna::quant
