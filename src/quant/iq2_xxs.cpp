#include "quant/iq2_xxs.h"

#include "quant/grids.h"
#include "quant/planes_builder.h"

namespace puna::quant {

void read_unit(const BlockIQ2_XXS& block, uint32_t u, UnitCodes& out) {
  const uint8_t* qs = block.qs + 8 * u;
  uint32_t word = 0;
  std::memcpy(&word, qs + 4, 4);
  for (uint32_t l = 0; l < 4; ++l)
    put_signed(kIq2XxsGrid[qs[l]], kEvenSignMasks[word >> (7 * l) & 127], out.code + 8 * l);
  set_scale(base::f16_to_f32(block.d) * (0.5f + static_cast<float>(word >> 28)) * 0.25f, out);
}

TypePlanes BlockIQ2_XXS::planes() {
  PlanesBuilder b(256, "repack/grids.wgsl");
  b.row_plane("is", 16);
  b.group_plane("d4", 2, 16);
  b.field("d4", 0, 16);
  for (uint32_t u = 0; u < 8; ++u) {
    b.words("is", 64 * u, 1);
    for (uint32_t l = 0; l < 4; ++l) b.signs("is", 4 * u + l, 7, 64, 32);
    b.beside_signs("is", u, 64, 32);  // the scale
  }
  b.grid(iq2_words(kIq2XxsGrid));
  return b.take();
}

}  // namespace puna::quant
