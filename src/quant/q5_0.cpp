#include "quant/q5_0.h"

#include "quant/planes_builder.h"
#include "quant/search.h"

namespace puna::quant {

void decode(const BlockQ5_0& block, float* out) {
  const float d = base::f16_to_f32(block.d);
  uint32_t high;
  std::memcpy(&high, block.qh, 4);
  for (int j = 0; j < 16; ++j) {
    const int q0 = static_cast<int>((block.qs[j] & 15u) | ((high >> j & 1) << 4));
    const int q1 = static_cast<int>((block.qs[j] >> 4) | ((high >> (j + 16) & 1) << 4));
    out[j] = d * static_cast<float>(q0 - 16);
    out[j + 16] = d * static_cast<float>(q1 - 16);
  }
}

void encode(const float* in, BlockQ5_0& block) {
  block.d = to_finite_f16(search_scale(in, 32, -16, 15));
  const float inverse = safe_inverse(base::f16_to_f32(block.d));
  uint32_t high = 0;
  for (int j = 0; j < 16; ++j) {
    const auto q0 = static_cast<uint32_t>(round_clamp(in[j] * inverse, -16, 15) + 16);
    const auto q1 = static_cast<uint32_t>(round_clamp(in[j + 16] * inverse, -16, 15) + 16);
    block.qs[j] = static_cast<uint8_t>((q0 & 15) | (q1 & 15) << 4);
    high |= (q0 >> 4) << j | (q1 >> 4) << (j + 16);
  }
  std::memcpy(block.qh, &high, 4);
}

TypePlanes BlockQ5_0::planes() { return legacy_planes(/*has_min=*/false, /*has_high=*/true); }

}  // namespace puna::quant
