#include "quant/iq2_xxs.h"

#include "quant/grids.h"

namespace puna::quant {

void read_unit(const BlockIQ2_XXS& block, uint32_t u, UnitCodes& out) {
  const uint8_t* qs = block.qs + 8 * u;
  uint32_t word = 0;
  std::memcpy(&word, qs + 4, 4);
  for (uint32_t l = 0; l < 4; ++l)
    put_signed(kIq2XxsGrid[qs[l]], kEvenSignMasks[word >> (7 * l) & 127], out.code + 8 * l);
  set_scale(base::f16_to_f32(block.d) * (0.5f + static_cast<float>(word >> 28)) * 0.25f, out);
}

}  // namespace puna::quant
