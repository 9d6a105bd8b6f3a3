#include "quant/iq3_s.h"

#include "quant/grids.h"

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

}  // namespace puna::quant
