#include "quant/nvfp4.h"

#include <algorithm>

#include "quant/mxfp4.h"
#include "quant/planes_builder.h"

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

TypePlanes BlockNVFP4::planes() {
  PlanesBuilder b(64, "repack/lookup.wgsl");
  b.row_plane("b4", 8);
  b.group_plane("s8", 4, 32);
  b.words("s8", 0, 1);
  for (uint32_t s = 0; s < 4; ++s) b.bits_of_nibbles(16 * s, 8);
  return b.take();
}

void set_scale(float x, BlockNVFP4& block) {
  // The block's own bits for the mantissa; the eighth is ignored.
  const int field = std::clamp(scale_exponent(x) + 8, 0, 15);
  for (uint8_t& d : block.d) d = static_cast<uint8_t>((d & 0x87) | field << 3);
}

}  // namespace puna::quant
