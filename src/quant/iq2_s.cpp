#include "quant/iq2_s.h"

#include "quant/grids.h"
#include "quant/planes_builder.h"

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

TypePlanes BlockIQ2_S::planes() {
  PlanesBuilder b(256, "repack/grids.wgsl");
  b.row_plane("is", 16);
  b.group_plane("sc", 16, 128);  // top bits of the entries, then scales, as in the file
  b.group_plane("d4", 2, 16);
  b.field("d4", 0, 16);
  for (uint32_t u = 0; u < 8; ++u) b.words("is", 64 * u, 1);
  for (uint32_t i = 0; i < 32; ++i) b.signs("is", i, 8, 64, 32);
  b.words("sc", 0, 4);
  b.grid(iq2_words(kIq2SGrid));
  return b.take();
}

}  // namespace puna::quant
