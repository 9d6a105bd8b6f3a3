// A unit (32 weights) of a block as signed codes: how the CPU reads the types that have no packed
// form of their own, and how their plain decode is written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/half.h"

namespace puna::quant {

// weight[i] = scale[i / 16] * code[i]; the product is exact in f32 unless the file has f32 scales.
struct UnitCodes {
  int8_t code[32];
  float scale[2];
};

// Eight codes from the bytes of `values` (each at most 127), negative where `signs` has a bit.
inline void put_signed(uint64_t values, uint32_t signs, int8_t* code) {
  for (int i = 0; i < 8; ++i) {
    const int value = static_cast<int>(values >> (8 * i) & 0x7f);
    code[i] = static_cast<int8_t>((signs >> i & 1) != 0 ? -value : value);
  }
}

// The eight signs that iq2_xxs, iq2_xs and iq3_xxs write in seven bits: their number is even.
inline uint32_t even_signs(uint32_t seven) {
  const uint32_t four = seven ^ seven >> 4;
  const uint32_t parity = 0x6996u >> (four & 15) & 1;
  return seven | parity << 7;
}

inline void set_scale(float scale, UnitCodes& out) { out.scale[0] = out.scale[1] = scale; }

template <class Block>
void decode_by_units(const Block& block, float* out) {
  UnitCodes unit;
  for (uint32_t u = 0; u < Block::kElements / 32; ++u) {
    read_unit(block, u, unit);
    for (uint32_t i = 0; i < 32; ++i)
      *out++ = unit.scale[i / 16] * static_cast<float>(unit.code[i]);
  }
}

}  // namespace puna::quant
