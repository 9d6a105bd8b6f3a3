// The plain form of softmax.h, in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/softmax/softmax.h"

namespace puna::kernels {

inline void softmax_ref(const SoftmaxCpuArgs& args) {
  const SoftmaxShape& s = args.shape;
  std::vector<double> z(s.n);
  for (uint64_t r = 0; r < uint64_t{args.n_rows} * s.n_heads; ++r) {
    const uint64_t head = r % s.n_heads, bias_row = s.bias_by_head ? r : r / s.n_heads;
    double most = args.sinks ? double{args.sinks[head]} : -INFINITY;
    for (uint32_t i = 0; i < s.n; ++i) {
      const double bias = args.bias ? double{args.bias[bias_row * s.n + i]} : 0;
      z[i] = double{s.scale} * args.y[r * s.n + i] + (args.slopes ? args.slopes[head] : 1) * bias;
      most = std::max(most, z[i]);
    }
    double sum = args.sinks ? std::exp(args.sinks[head] - most) : 0;
    for (double& v : z) {
      v = std::isinf(most) ? 0 : std::exp(v - most);
      sum += v;
    }
    for (uint32_t i = 0; i < s.n; ++i)
      args.y[r * s.n + i] = static_cast<float>(sum == 0 ? 0 : z[i] / sum);
  }
}

}  // namespace puna::kernels
