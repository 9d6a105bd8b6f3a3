#include "quant/q2_k.h"

#include "quant/planes_builder.h"
#include "quant/search.h"

namespace puna::quant {

void decode(const BlockQ2_K& block, float* out) {
  const float d = base::f16_to_f32(block.d);
  const float dmin = base::f16_to_f32(block.dmin);
  for (int group = 0; group < 16; ++group) {
    const float scale = d * static_cast<float>(block.scales[group] & 15);
    const float min = dmin * static_cast<float>(block.scales[group] >> 4);
    const uint8_t* qs = block.qs + group / 8 * 32 + group % 2 * 16;
    const int shift = group % 8 / 2 * 2;
    for (int l = 0; l < 16; ++l) *out++ = scale * static_cast<float>(qs[l] >> shift & 3) - min;
  }
}

void encode(const float* in, BlockQ2_K& block) {
  const SuperAffine fit =
      search_super_affine(in, /*group_elements=*/16, /*hi=*/3, /*max_scale=*/15);
  block = {};
  block.d = fit.d;
  block.dmin = fit.dmin;
  for (int j = 0; j < 16; ++j)
    block.scales[j] = static_cast<uint8_t>(fit.scale[j] | (fit.min[j] << 4));
  for (int e = 0; e < 256; ++e) {
    uint8_t& byte = block.qs[e / 128 * 32 + e % 32];
    byte = static_cast<uint8_t>(byte | (fit.q[e] << (e % 128 / 32 * 2)));
  }
}

TypePlanes BlockQ2_K::planes() {
  PlanesBuilder b(256, "repack/k_quants.wgsl");
  b.group_plane("q2", 64, 32);
  b.group_plane("sc", 16, 32);
  b.group_plane("dm4", 4, 32);
  b.scale_bytes();
  b.pairs_of_k();
  b.field("dm4", 0, 32);
  return b.take();
}

}  // namespace puna::quant
