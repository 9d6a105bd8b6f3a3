#include "quant/q4_k.h"

#include "quant/k_scales.h"
#include "quant/planes_builder.h"
#include "quant/search.h"

namespace puna::quant {

void decode(const BlockQ4_K& block, float* out) {
  const float d = base::f16_to_f32(block.d);
  const float dmin = base::f16_to_f32(block.dmin);
  for (int group = 0; group < 8; ++group) {
    const ScaleMin packed = unpack_scale_min(block.scales, group);
    const float scale = d * static_cast<float>(packed.scale);
    const float min = dmin * static_cast<float>(packed.min);
    const uint8_t* qs = block.qs + group / 2 * 32;
    const int shift = group % 2 * 4;
    for (int l = 0; l < 32; ++l) *out++ = scale * static_cast<float>(qs[l] >> shift & 15) - min;
  }
}

void encode(const float* in, BlockQ4_K& block) {
  const SuperAffine fit =
      search_super_affine(in, /*group_elements=*/32, /*hi=*/15, /*max_scale=*/63);
  block.d = fit.d;
  block.dmin = fit.dmin;
  pack_scale_mins(fit.scale, fit.min, block.scales);
  for (int i = 0; i < 128; ++i) {
    const int e = i / 32 * 64 + i % 32;
    block.qs[i] = static_cast<uint8_t>(fit.q[e] | (fit.q[e + 32] << 4));
  }
}

TypePlanes BlockQ4_K::planes() {
  PlanesBuilder b(256, "repack/k_quants.wgsl");
  b.row_plane("q4", 32);
  b.group_plane("hd", 16, 128);
  b.field("hd", 0, 32);
  b.scale_mins();
  b.nibbles_of_k();
  return b.take();
}

}  // namespace puna::quant
