#include "quant/q3_k.h"

#include "quant/planes_builder.h"
#include "quant/search.h"

namespace puna::quant {

void decode(const BlockQ3_K& block, float* out) {
  const float d = base::f16_to_f32(block.d);
  for (int group = 0; group < 16; ++group) {
    const int low = block.scales[group % 8] >> (group / 8 * 4) & 15;
    const int top = block.scales[8 + group % 4] >> (group / 4 * 2) & 3;
    const float scale = d * static_cast<float>((low | top << 4) - 32);
    const uint8_t* qs = block.qs + group / 8 * 32 + group % 2 * 16;
    const uint8_t* hmask = block.hmask + group % 2 * 16;
    const int shift = group % 8 / 2 * 2;
    const int bit = group / 2;
    for (int l = 0; l < 16; ++l) {
      const int q = (qs[l] >> shift & 3) | (hmask[l] >> bit & 1) << 2;
      *out++ = scale * static_cast<float>(q - 4);
    }
  }
}

void encode(const float* in, BlockQ3_K& block) {
  const SuperSymmetric fit = search_super_symmetric(in, /*lo=*/-4, /*hi=*/3, /*scale_lo=*/-32);
  block = {};
  block.d = fit.d;
  for (int j = 0; j < 16; ++j) {
    const int scale = fit.scale[j] + 32;
    block.scales[j % 8] = static_cast<uint8_t>(block.scales[j % 8] | (scale & 15) << (j / 8 * 4));
    block.scales[8 + j % 4] =
        static_cast<uint8_t>(block.scales[8 + j % 4] | (scale >> 4) << (j / 4 * 2));
  }
  for (int e = 0; e < 256; ++e) {
    const int q = fit.q[e] + 4;
    uint8_t& low = block.qs[e / 128 * 32 + e % 32];
    uint8_t& high = block.hmask[e % 32];
    low = static_cast<uint8_t>(low | (q & 3) << (e % 128 / 32 * 2));
    high = static_cast<uint8_t>(high | (q >> 2) << (e / 32));
  }
}

TypePlanes BlockQ3_K::planes() {
  PlanesBuilder b(256, "repack/k_quants.wgsl");
  b.group_plane("q3", 96, 32);
  // Three vec4, a row each component: low nibbles of scales 0..7, of 8..15, then the top two bits
  // of all.
  b.group_plane("sc", 12, 32);
  b.group_plane("d4", 2, 16);
  for (uint32_t l = 0; l < 32; ++l) {
    for (uint32_t bit = 0; bit < 8; ++bit) b.field("q3", q3_bit(32 * bit + l, /*top=*/true), 1);
  }
  b.pairs_of_k("q3", [](uint32_t e) { return q3_bit(e, /*top=*/false); });
  for (uint32_t j = 0; j < 8; ++j) {
    b.field("sc", 4 * j, 4);
    b.field("sc", 128 + 4 * j, 4);
  }
  for (uint32_t j = 0; j < 4; ++j) {
    for (uint32_t pair = 0; pair < 4; ++pair) b.field("sc", 256 + 2 * (4 * pair + j), 2);
  }
  b.field("d4", 0, 16);
  return b.take();
}

}  // namespace puna::quant
