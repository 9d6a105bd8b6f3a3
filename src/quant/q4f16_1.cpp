#include "quant/q4f16_1.h"

namespace puna::quant {
namespace {

void read_codes(const uint8_t* qs, UnitCodes& out) {
  for (int j = 0; j < 16; ++j) {
    out.code[2 * j] = static_cast<int8_t>((qs[j] & 15) - 7);
    out.code[2 * j + 1] = static_cast<int8_t>((qs[j] >> 4) - 7);
  }
}

}  // namespace

void read_unit(const BlockQ4F16_1& block, uint32_t, UnitCodes& out) {
  read_codes(block.qs, out);
  set_scale(base::f16_to_f32(block.d), out);
}

void read_unit(const BlockQ4F32_1& block, uint32_t, UnitCodes& out) {
  read_codes(block.qs, out);
  set_scale(block.d, out);
}

}  // namespace puna::quant
