#include "quant/iq4_nl.h"

#include <cmath>

#include "quant/planes_builder.h"

namespace puna::quant {

void read_unit(const BlockIQ4_NL& block, uint32_t, UnitCodes& out) {
  for (int j = 0; j < 16; ++j) {
    out.code[j] = kIq4Values[block.qs[j] & 15];
    out.code[j + 16] = kIq4Values[block.qs[j] >> 4];
  }
  set_scale(base::f16_to_f32(block.d), out);
}

namespace {

// The code of the value nearest to x; NaN gives 0.
int nearest(float x) {
  int best = 0;
  for (int q = 1; q < 16; ++q) {
    // Above the middle between a value and the one before it.
    if (x > 0.5f * static_cast<float>(kIq4Values[q] + kIq4Values[q - 1])) best = q;
  }
  return best;
}

}  // namespace

void encode(const float* in, BlockIQ4_NL& block) {
  float largest = 0;  // the element of largest size, with its sign
  for (int i = 0; i < 32; ++i) {
    if (std::fabs(in[i]) > std::fabs(largest)) largest = in[i];
  }
  // Grids that put the largest element near either end; each is refitted by least squares.
  float best_d = 0;
  float best_gain = 0;
  for (int step = -8; step <= 8; ++step) {
    for (const float end : {-127.0f, 113.0f}) {
      const float inverse = (end + static_cast<float>(step)) * safe_inverse(largest);
      float products = 0;
      float squares = 0;
      for (int i = 0; i < 32; ++i) {
        const auto value = static_cast<float>(kIq4Values[nearest(in[i] * inverse)]);
        products += in[i] * value;
        squares += value * value;
      }
      // The squared error is sum x^2 - products^2 / squares.
      const float gain = products * products / squares;
      if (gain > best_gain) {
        best_gain = gain;
        best_d = products / squares;
      }
    }
  }
  block.d = to_finite_f16(best_d);
  const float inverse = safe_inverse(base::f16_to_f32(block.d));
  for (int j = 0; j < 16; ++j) {
    block.qs[j] =
        static_cast<uint8_t>(nearest(in[j] * inverse) | nearest(in[j + 16] * inverse) << 4);
  }
}

TypePlanes BlockIQ4_NL::planes() { return lookup_planes("s4", 16); }

}  // namespace puna::quant
