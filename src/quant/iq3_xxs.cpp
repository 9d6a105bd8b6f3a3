#include "quant/iq3_xxs.h"

#include "quant/grids.h"
#include "quant/planes_builder.h"

namespace puna::quant {

void read_unit(const BlockIQ3_XXS& block, uint32_t u, UnitCodes& out) {
  uint32_t word = 0;
  std::memcpy(&word, block.signs + 4 * u, 4);
  for (uint32_t l = 0; l < 4; ++l) {
    const uint8_t* qs = block.qs + 8 * u + 2 * l;
    const uint64_t values = kIq3XxsGrid[qs[0]] | uint64_t{kIq3XxsGrid[qs[1]]} << 32;
    put_signed(values, kEvenSignMasks[word >> (7 * l) & 127], out.code + 8 * l);
  }
  set_scale(base::f16_to_f32(block.d) * (0.5f + static_cast<float>(word >> 28)) * 0.5f, out);
}

TypePlanes BlockIQ3_XXS::planes() {
  PlanesBuilder b(256, "repack/grids.wgsl");
  b.row_plane("ix", 16);
  b.row_plane("sg", 8);
  b.group_plane("d4", 2, 16);
  b.field("d4", 0, 16);
  b.words("ix", 0, 16);
  for (uint32_t u = 0; u < 8; ++u) {
    for (uint32_t l = 0; l < 4; ++l) b.signs("sg", 4 * u + l, 7, 32, 0);
    b.beside_signs("sg", u, 32, 0);  // the scale
  }
  b.grid({kIq3XxsGrid.begin(), kIq3XxsGrid.end()});
  return b.take();
}

}  // namespace puna::quant
