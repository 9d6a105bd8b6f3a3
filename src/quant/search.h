// Error-minimising choice of scales for encoding. The idea (one-dimensional clustering on a grid):
// try many grids around the obvious one, assign each element to its nearest level, refit scale and
// minimum to that assignment by least squares, keep the best. The second half extends it to the K
// types, where the groups' scales are themselves small integers times one half-precision number.
#pragma once

#include <cstdint>

namespace puna::quant {

// The d that makes sum (x - d * q)^2 smallest over q = round(x / d) in lo..hi, among the grids
// tried. 0 when all x are 0.
float search_scale(const float* x, int n, int lo, int hi);

struct Affine {
  float scale = 0;  // >= 0
  float min = 0;
};
// The same for x = scale * q + min, q in 0..hi. With min_at_most_zero as the K types need it (they
// store -min unsigned).
Affine search_affine(const float* x, int n, int hi, bool min_at_most_zero);

// A super-block of 256 elements in groups: x = d * scale[j] * q - dmin * min[j].
struct SuperAffine {
  uint16_t d = 0, dmin = 0;  // f16
  uint8_t scale[16] = {}, min[16] = {};
  uint8_t q[256] = {};
};
SuperAffine search_super_affine(const float x[256], int group_elements, int hi, int max_scale);

// x = d * scale[j] * q with q in lo..hi and scale in scale_lo..-scale_lo - 1, groups of 16.
struct SuperSymmetric {
  uint16_t d = 0;  // f16
  int8_t scale[16] = {};
  int8_t q[256] = {};
};
SuperSymmetric search_super_symmetric(const float x[256], int lo, int hi, int scale_lo);

}  // namespace puna::quant
