#include "quant/q4_1.h"

#include "quant/planes_builder.h"
#include "quant/search.h"

namespace puna::quant {

void decode(const BlockQ4_1& block, float* out) {
  const float d = base::f16_to_f32(block.d);
  const float m = base::f16_to_f32(block.m);
  for (int j = 0; j < 16; ++j) {
    out[j] = d * static_cast<float>(block.qs[j] & 15) + m;
    out[j + 16] = d * static_cast<float>(block.qs[j] >> 4) + m;
  }
}

void encode(const float* in, BlockQ4_1& block) {
  const Affine fit = search_affine(in, 32, 15, /*min_at_most_zero=*/false);
  block.d = to_finite_f16(fit.scale);
  block.m = to_finite_f16(fit.min);
  const float inverse = safe_inverse(base::f16_to_f32(block.d));
  const float m = base::f16_to_f32(block.m);
  for (int j = 0; j < 16; ++j) {
    const int low = round_clamp((in[j] - m) * inverse, 0, 15);
    const int high = round_clamp((in[j + 16] - m) * inverse, 0, 15);
    block.qs[j] = static_cast<uint8_t>(low | (high << 4));
  }
}

TypePlanes BlockQ4_1::planes() { return legacy_planes(/*has_min=*/true, /*has_high=*/false); }

}  // namespace puna::quant
