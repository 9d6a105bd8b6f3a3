#include "quant/iq4_xs.h"

#include "quant/iq4_nl.h"
#include "quant/planes_builder.h"

namespace puna::quant {

void read_unit(const BlockIQ4_XS& block, uint32_t u, UnitCodes& out) {
  const uint8_t* qs = block.qs + 16 * u;
  for (int j = 0; j < 16; ++j) {
    out.code[j] = kIq4Values[qs[j] & 15];
    out.code[j + 16] = kIq4Values[qs[j] >> 4];
  }
  const int low = block.scales_l[u / 2] >> (u % 2 * 4) & 15;
  const int top = block.scales_h >> (2 * u) & 3;
  set_scale(base::f16_to_f32(block.d) * static_cast<float>((low | top << 4) - 32), out);
}

TypePlanes BlockIQ4_XS::planes() {
  PlanesBuilder b(256, "repack/lookup.wgsl");
  b.row_plane("b4", 32);
  b.group_plane("hd", 8, 64);  // the 8 bytes before the codes, as in the file
  b.words("hd", 0, 2);
  for (uint32_t u = 0; u < 8; ++u) b.bits_of_nibbles(32 * u, 16);
  return b.take();
}

}  // namespace puna::quant
