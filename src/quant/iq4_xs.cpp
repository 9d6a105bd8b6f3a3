#include "quant/iq4_xs.h"

#include "quant/iq4_nl.h"

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

}  // namespace puna::quant
