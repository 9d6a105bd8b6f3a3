#include "quant/q5_k.h"

#include "quant/k_scales.h"
#include "quant/planes_builder.h"
#include "quant/search.h"

namespace puna::quant {

void decode(const BlockQ5_K& block, float* out) {
  const float d = base::f16_to_f32(block.d);
  const float dmin = base::f16_to_f32(block.dmin);
  for (int group = 0; group < 8; ++group) {
    const ScaleMin packed = unpack_scale_min(block.scales, group);
    const float scale = d * static_cast<float>(packed.scale);
    const float min = dmin * static_cast<float>(packed.min);
    const uint8_t* qs = block.qs + group / 2 * 32;
    const int shift = group % 2 * 4;
    for (int l = 0; l < 32; ++l) {
      const int q = (qs[l] >> shift & 15) | (block.qh[l] >> group & 1) << 4;
      *out++ = scale * static_cast<float>(q) - min;
    }
  }
}

void encode(const float* in, BlockQ5_K& block) {
  const SuperAffine fit =
      search_super_affine(in, /*group_elements=*/32, /*hi=*/31, /*max_scale=*/63);
  block = {};
  block.d = fit.d;
  block.dmin = fit.dmin;
  pack_scale_mins(fit.scale, fit.min, block.scales);
  for (int i = 0; i < 128; ++i) {
    const int e = i / 32 * 64 + i % 32;
    block.qs[i] = static_cast<uint8_t>((fit.q[e] & 15) | (fit.q[e + 32] & 15) << 4);
  }
  for (int e = 0; e < 256; ++e) {
    uint8_t& high = block.qh[e % 32];
    high = static_cast<uint8_t>(high | (fit.q[e] >> 4) << (e / 32));
  }
}

TypePlanes BlockQ5_K::planes() {
  PlanesBuilder b(256, "repack/k_quants.wgsl");
  b.row_plane("q4", 32);
  b.group_plane("h1", 32, 32);
  b.group_plane("hd", 16, 128);
  b.field("hd", 0, 32);
  b.scale_mins();
  for (uint32_t l = 0; l < 32; ++l) {
    for (uint32_t j = 0; j < 8; ++j) b.field("h1", h1_bit(32 * j + l), 1);
  }
  b.nibbles_of_k();
  return b.take();
}

}  // namespace puna::quant
