#include "quant/mxfp4.h"

#include <algorithm>
#include <cmath>

#include "quant/planes_builder.h"

namespace puna::quant {

namespace {

int nearest(float x) {
  int best = 0;
  for (int q = 1; q < 8; ++q) {
    if (std::fabs(x) > 0.5f * static_cast<float>(kFp4Values[q] + kFp4Values[q - 1])) best = q;
  }
  return x < 0 && best > 0 ? best + 8 : best;
}

// Squared error of a block in units of its scale.
float error_of(const float* in, float inverse, float scale) {
  float sum = 0;
  for (int i = 0; i < 32; ++i) {
    const float error = in[i] - scale * static_cast<float>(kFp4Values[nearest(in[i] * inverse)]);
    sum += error * error;
  }
  return sum;
}

}  // namespace

void read_unit(const BlockMXFP4& block, uint32_t, UnitCodes& out) {
  for (int j = 0; j < 16; ++j) {
    out.code[j] = kFp4Values[block.qs[j] & 15];
    out.code[j + 16] = kFp4Values[block.qs[j] >> 4];
  }
  set_scale(mxfp4_scale(block.e), out);
}

void encode(const float* in, BlockMXFP4& block) {
  float largest = 0;
  for (int i = 0; i < 32; ++i) {
    if (std::fabs(in[i]) > largest) largest = std::fabs(in[i]);
  }
  // With e the exponent of the largest element, it lies between 8 and 16 scales; 12 is the largest
  // code, so one step up may be nearer. 254 keeps 12 scales finite.
  const auto exponent = static_cast<int>(std::bit_cast<uint32_t>(largest) >> 23);
  const int e = std::clamp(exponent - 2, 0, 251);
  block.e = static_cast<uint8_t>(e);
  if (error_of(in, 1.0f / mxfp4_scale(block.e + 1u), mxfp4_scale(block.e + 1u)) <
      error_of(in, 1.0f / mxfp4_scale(block.e), mxfp4_scale(block.e))) {
    ++block.e;
  }
  const float inverse = 1.0f / mxfp4_scale(block.e);
  for (int j = 0; j < 16; ++j) {
    block.qs[j] =
        static_cast<uint8_t>(nearest(in[j] * inverse) | nearest(in[j + 16] * inverse) << 4);
  }
}

TypePlanes BlockMXFP4::planes() { return lookup_planes("e4", 8); }

void set_scale(float x, BlockMXFP4& block) {
  block.e = static_cast<uint8_t>(std::clamp(scale_exponent(x) + 128, 2, 250));
}

}  // namespace puna::quant
