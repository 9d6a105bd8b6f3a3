#include "quant/iq1_s.h"

#include "quant/grids.h"

namespace puna::quant {

void put_eighths(uint32_t entry, bool down, int8_t* code) {
  // With the top bit of every byte set, no subtraction borrows from the next byte.
  const uint64_t tops = 128 * kEveryByte;
  const uint64_t codes = ((kIq1Grid[entry] << 3 | tops) - (down ? 9 : 7) * kEveryByte) ^ tops;
  std::memcpy(code, &codes, 8);
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
