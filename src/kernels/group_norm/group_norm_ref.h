// The plain form of group_norm.h, sums in f64.
#pragma once

#include <cmath>

#include "kernels/group_norm/group_norm.h"

namespace puna::kernels {

inline void group_norm_ref(const GroupNormCpuArgs& args) {
  const GroupNormShape& s = args.shape;
  const uint32_t size = s.n / s.n_groups;
  for (uint64_t t = 0; t < args.n_rows; ++t) {
    for (uint32_t i = 0; i < s.n; ++i) {
      const float* group = args.x + t * s.n + i / size * size;
      double sum = 0;
      for (uint32_t j = 0; j < size; ++j) sum += double{group[j]} * group[j];
      double value =
          args.x[t * s.n + i] / std::sqrt(sum / size + s.eps) * args.gamma[i % s.n_gamma];
      if (args.gate) {
        const double gate = args.gate[t * s.gate_stride + s.gate_column + i];
        value *= gate / (1.0 + std::exp(-gate));
      }
      args.y[t * s.n + i] = static_cast<float>(value);
    }
  }
}

}  // namespace puna::kernels
