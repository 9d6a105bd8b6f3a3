#include "quant/q4_0.h"

#include "quant/planes_builder.h"
#include "quant/search.h"

namespace puna::quant {

void decode(const BlockQ4_0& block, float* out) {
  const float d = base::f16_to_f32(block.d);
  for (int j = 0; j < 16; ++j) {
    out[j] = d * static_cast<float>((block.qs[j] & 15) - 8);
    out[j + 16] = d * static_cast<float>((block.qs[j] >> 4) - 8);
  }
}

void encode(const float* in, BlockQ4_0& block) {
  block.d = to_finite_f16(search_scale(in, 32, -8, 7));
  const float inverse = safe_inverse(base::f16_to_f32(block.d));
  for (int j = 0; j < 16; ++j) {
    const int low = round_clamp(in[j] * inverse, -8, 7) + 8;
    const int high = round_clamp(in[j + 16] * inverse, -8, 7) + 8;
    block.qs[j] = static_cast<uint8_t>(low | (high << 4));
  }
}

TypePlanes BlockQ4_0::planes() { return legacy_planes(/*has_min=*/false, /*has_high=*/false); }

}  // namespace puna::quant
