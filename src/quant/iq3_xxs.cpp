#include "quant/iq3_xxs.h"

#include "quant/grids.h"

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

}  // namespace puna::quant
