// The plain form of norm.h: one row after the other, sums in f64.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/norm/norm.h"

namespace puna::kernels {

// v[i] = v[i] / sqrt(mean(v^2) + eps) * gamma[i]
inline void rms_norm_row_ref(std::vector<double>& v, const float* gamma, float eps) {
  double sum = 0;
  for (const double value : v) sum += value * value;
  const double inverse = 1.0 / std::sqrt(sum / static_cast<double>(v.size()) + eps);
  for (size_t i = 0; i < v.size(); ++i) v[i] *= inverse * gamma[i];
}

inline void rms_norm_ref(const NormCpuArgs& args) {
  for (uint32_t t = 0; t < args.n_rows; ++t) {
    const uint64_t row = uint64_t{t} * args.n;
    std::vector<double> r(args.x + row, args.x + row + args.n);
    if (args.post_gamma) rms_norm_row_ref(r, args.post_gamma, args.eps);
    if (args.residual) {
      for (uint32_t i = 0; i < args.n; ++i) {
        r[i] = (r[i] + args.residual[row + i]) * (args.scale ? *args.scale : 1);
        args.residual[row + i] = static_cast<float>(r[i]);
      }
    }
    if (!args.y) continue;
    rms_norm_row_ref(r, args.gamma, args.eps);
    for (uint32_t i = 0; i < args.n; ++i) args.y[row + i] = static_cast<float>(r[i]);
  }
}

}  // namespace puna::kernels
