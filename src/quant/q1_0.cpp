#include "quant/q1_0.h"

namespace puna::quant {

void read_unit(const BlockQ1_0& block, uint32_t u, UnitCodes& out) {
  for (uint32_t i = 0; i < 32; ++i)
    out.code[i] = (block.qs[4 * u + i / 8] >> (i % 8) & 1) != 0 ? int8_t{1} : int8_t{-1};
  set_scale(base::f16_to_f32(block.d), out);
}

}  // namespace puna::quant
