// The plain form of norm_parts.h: one part after the other, sums in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/norm/norm_parts.h"

namespace puna::kernels {

inline void norm_parts_ref(const NormPartsCpuArgs& args) {
  const NormPartsShape& s = args.shape;
  for (uint64_t i = 0; i < uint64_t{args.n_rows} * s.n_parts; ++i) {
    const uint64_t t = i / s.n_parts, p = i % s.n_parts;
    float* x = args.x + t * s.x_stride + s.x_column + p * s.n;
    float* y = args.y ? args.y + i * s.n : x;
    double mean = 0, squares = 0;
    if (s.kind == NormKind::kLayer) {
      for (uint32_t d = 0; d < s.n; ++d) mean += double{x[d]} / s.n;
    }
    for (uint32_t d = 0; d < s.n; ++d) squares += (x[d] - mean) * (x[d] - mean) / s.n;
    for (uint32_t d = 0; d < s.n; ++d) {
      const uint64_t w = d + (s.weights_by_part ? p * s.n : 0);
      const double length = s.kind == NormKind::kL2
                                ? std::max(std::sqrt(squares * s.n), double{s.eps})
                                : std::sqrt(squares + s.eps);
      const double normed = (x[d] - mean) / length;
      y[d] = static_cast<float>(normed * (args.gamma ? args.gamma[w] : 1) +
                                (args.beta ? args.beta[w] : 0));
    }
  }
}

}  // namespace puna::kernels
