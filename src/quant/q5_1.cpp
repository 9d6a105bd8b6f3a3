#include "quant/q5_1.h"

#include "quant/planes_builder.h"
#include "quant/search.h"

namespace puna::quant {

void decode(const BlockQ5_1& block, float* out) {
  const float d = base::f16_to_f32(block.d);
  const float m = base::f16_to_f32(block.m);
  uint32_t high;
  std::memcpy(&high, block.qh, 4);
  for (int j = 0; j < 16; ++j) {
    const uint32_t q0 = (block.qs[j] & 15u) | ((high >> j & 1) << 4);
    const uint32_t q1 = (block.qs[j] >> 4) | ((high >> (j + 16) & 1) << 4);
    out[j] = d * static_cast<float>(q0) + m;
    out[j + 16] = d * static_cast<float>(q1) + m;
  }
}

void encode(const float* in, BlockQ5_1& block) {
  const Affine fit = search_affine(in, 32, 31, /*min_at_most_zero=*/false);
  block.d = to_finite_f16(fit.scale);
  block.m = to_finite_f16(fit.min);
  const float inverse = safe_inverse(base::f16_to_f32(block.d));
  const float m = base::f16_to_f32(block.m);
  uint32_t high = 0;
  for (int j = 0; j < 16; ++j) {
    const auto q0 = static_cast<uint32_t>(round_clamp((in[j] - m) * inverse, 0, 31));
    const auto q1 = static_cast<uint32_t>(round_clamp((in[j + 16] - m) * inverse, 0, 31));
    block.qs[j] = static_cast<uint8_t>((q0 & 15) | (q1 & 15) << 4);
    high |= (q0 >> 4) << j | (q1 >> 4) << (j + 16);
  }
  std::memcpy(block.qh, &high, 4);
}

TypePlanes BlockQ5_1::planes() { return legacy_planes(/*has_min=*/true, /*has_high=*/true); }

}  // namespace puna::quant
