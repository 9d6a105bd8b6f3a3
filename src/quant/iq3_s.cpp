#include "quant/iq3_s.h"

#include "quant/grids.h"
#include "quant/planes_builder.h"

namespace puna::quant {

void read_unit(const BlockIQ3_S& block, uint32_t u, UnitCodes& out) {
  const uint32_t tops = block.qh[u];
  for (uint32_t l = 0; l < 4; ++l) {
    const uint8_t* qs = block.qs + 8 * u + 2 * l;
    const uint64_t first = kIq3SGrid[qs[0] | (tops >> (2 * l) & 1) << 8];
    const uint64_t second = kIq3SGrid[qs[1] | (tops >> (2 * l + 1) & 1) << 8];
    put_signed(first | second << 32, kSignMasks[block.signs[4 * u + l]], out.code + 8 * l);
  }
  const int scale = block.scales[u / 2] >> (u % 2 * 4) & 15;
  set_scale(base::f16_to_f32(block.d) * static_cast<float>(1 + 2 * scale), out);
}

TypePlanes BlockIQ3_S::planes() {
  PlanesBuilder b(256, "repack/grids.wgsl");
  b.row_plane("ix", 16);
  b.row_plane("sg", 8);
  // Three vec4, a row each component: ninth bits of the entries of units 0..3, of 4..7, the scales.
  b.group_plane("sc", 12, 32);
  b.group_plane("d4", 2, 16);
  b.field("d4", 0, 16);
  b.words("ix", 0, 16);
  for (uint32_t w = 0; w < 2; ++w) b.field("sc", 128 * w, 32);
  for (uint32_t i = 0; i < 32; ++i) b.signs("sg", i, 8, 32, 0);
  b.field("sc", 256, 32);
  b.grid({kIq3SGrid.begin(), kIq3SGrid.end()});
  return b.take();
}

}  // namespace puna::quant
