#include "quant/iq1_s.h"

#include "quant/grids.h"

namespace puna::quant {

void put_eighths(uint32_t entry, bool down, int8_t* code) {
  const uint64_t values = kIq1Grid[entry];
  const int move = down ? -9 : -7;
  for (int i = 0; i < 8; ++i)
    code[i] = static_cast<int8_t>(8 * static_cast<int>(values >> (8 * i) & 3) + move);
}

void read_unit(const BlockIQ1_S& block, uint32_t u, UnitCodes& out) {
  const uint32_t word = block.qh[u];
  for (uint32_t l = 0; l < 4; ++l) {
    const uint32_t entry = block.qs[4 * u + l] | (word >> (3 * l) & 7) << 8;
    put_eighths(entry, word >> 15 != 0, out.code + 8 * l);
  }
  const uint32_t scale = 2 * (word >> 12 & 7) + 1;
  set_scale(base::f16_to_f32(block.d) * static_cast<float>(scale) * 0.125f, out);
}

}  // namespace puna::quant
