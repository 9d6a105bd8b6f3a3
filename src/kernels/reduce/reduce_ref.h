// The plain form of reduce.h, sums in f64.
#pragma once

#include <cstdint>

#include "kernels/reduce/reduce.h"

namespace puna::kernels {

inline uint32_t argmax_ref(const float* x, uint32_t n) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < n; ++i) {
    if (x[i] > x[best] || (x[best] != x[best] && x[i] == x[i])) best = i;
  }
  return x[best] == x[best] ? best : 0;
}

inline void reduce_ref(const ReduceCpuArgs& args) {
  const ReduceShape& s = args.shape;
  for (uint64_t r = 0; r < uint64_t{args.n_rows} * s.n_parts; ++r) {
    const float* x = args.x + r * s.n;
    if (s.reduction == Reduction::kArgmax) {
      static_cast<uint32_t*>(args.y)[r] = argmax_ref(x, s.n);
      continue;
    }
    auto* y = static_cast<float*>(args.y);
    if (s.reduction == Reduction::kMax) y[r] = x[argmax_ref(x, s.n)];
    double sum = 0;
    for (uint64_t i = 0; i < s.n; ++i) {
      sum += x[i];
      if (s.reduction == Reduction::kRunningSum) y[r * s.n + i] = static_cast<float>(sum);
    }
    if (s.reduction == Reduction::kSum) y[r] = static_cast<float>(sum);
    if (s.reduction == Reduction::kMean) y[r] = static_cast<float>(sum / s.n);
  }
}

}  // namespace puna::kernels
