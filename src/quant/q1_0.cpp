#include "quant/q1_0.h"

#include "quant/planes_builder.h"

namespace puna::quant {

void read_unit(const BlockQ1_0& block, uint32_t u, UnitCodes& out) {
  for (uint32_t i = 0; i < 32; ++i)
    out.code[i] = (block.qs[4 * u + i / 8] >> (i % 8) & 1) != 0 ? int8_t{1} : int8_t{-1};
  set_scale(base::f16_to_f32(block.d), out);
}

TypePlanes BlockQ1_0::planes() {
  PlanesBuilder b(128, "quant/q1_0_repack.wgsl");
  b.row_plane("b1", 4);
  b.group_plane("s4", 2, 16);
  b.field("s4", 0, 16);
  for (uint32_t e = 0; e < 128; ++e) b.field("b1", e / 32 * 32 + order_bit(e), 1);
  return b.take();
}

}  // namespace puna::quant
