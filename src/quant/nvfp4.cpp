#include "quant/nvfp4.h"

#include "quant/mxfp4.h"

namespace puna::quant {

float nvfp4_scale(uint32_t bits) {
  if (bits == 0x7f) return 0;
  const auto exponent = static_cast<int>(bits >> 3 & 15);
  const uint32_t mantissa = exponent == 0 ? bits & 7 : 8 + (bits & 7);
  // mantissa * 2^(exponent - 10 - 1), an exponent of 0 counting as 1.
  return static_cast<float>(mantissa) *
         std::bit_cast<float>(static_cast<uint32_t>(std::max(exponent, 1) + 116) << 23);
}

void read_unit(const BlockNVFP4& block, uint32_t u, UnitCodes& out) {
  for (uint32_t h = 0; h < 2; ++h) {
    const uint8_t* qs = block.qs + 8 * (2 * u + h);
    for (uint32_t j = 0; j < 8; ++j) {
      out.code[16 * h + j] = kFp4Values[qs[j] & 15];
      out.code[16 * h + 8 + j] = kFp4Values[qs[j] >> 4];
    }
    out.scale[h] = nvfp4_scale(block.d[2 * u + h]);
  }
}

}  // namespace puna::quant
