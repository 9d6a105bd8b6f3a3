// A unit (32 weights) of a block as signed codes: how the CPU reads the types whose codes name
// entries of a grid, and how the plain decode of these and others is written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace puna::quant {

// weight[i] = scale[i / 16] * code[i]; the product is exact in f32 unless the file has f32 scales.
struct UnitCodes {
  int8_t code[32];
  float scale[2];
};

constexpr uint64_t kEveryByte = 0x0101010101010101;  // times n: n in every byte

// Bit i of the index in all bits of byte i.
constexpr std::array<uint64_t, 256> kSignMasks = [] {
  std::array<uint64_t, 256> masks{};
  for (uint32_t signs = 0; signs < 256; ++signs) {
    for (uint32_t i = 0; i < 8; ++i) masks[signs] |= uint64_t{signs >> i & 1} * 0xff << (8 * i);
  }
  return masks;
}();

// The eight signs that iq2_xxs, iq2_xs and iq3_xxs write in seven bits: their number is even.
constexpr uint32_t even_signs(uint32_t seven) {
  const uint32_t four = seven ^ seven >> 4;
  const uint32_t parity = 0x6996u >> (four & 15) & 1;
  return seven | parity << 7;
}
constexpr std::array<uint64_t, 128> kEvenSignMasks = [] {
  std::array<uint64_t, 128> masks{};
  for (uint32_t seven = 0; seven < 128; ++seven) masks[seven] = kSignMasks[even_signs(seven)];
  return masks;
}();

// Eight codes from the bytes of `values` (each 1 to 127, so that no negation carries into the next
// byte), negative where the byte of `mask` is full.
inline void put_signed(uint64_t values, uint64_t mask, int8_t* code) {
  const uint64_t codes = (values ^ mask) + (mask & kEveryByte);
  std::memcpy(code, &codes, 8);
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
