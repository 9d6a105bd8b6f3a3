// The plain form of hadamard.h: the product with the matrix, in f64.
#pragma once

#include <bit>
#include <cmath>
#include <vector>

#include "kernels/hadamard/hadamard.h"

namespace puna::kernels {

inline void hadamard_ref(const HadamardCpuArgs& args) {
  const uint32_t n = args.shape.n;
  for (uint64_t r = 0; r < uint64_t{args.n_rows} * args.shape.n_parts; ++r) {
    const std::vector<float> v(args.y + r * n, args.y + (r + 1) * n);
    for (uint32_t i = 0; i < n; ++i) {
      double sum = 0;
      for (uint32_t j = 0; j < n; ++j) sum += std::popcount(i & j) % 2 == 0 ? v[j] : -v[j];
      args.y[r * n + i] = static_cast<float>(sum / std::sqrt(n));
    }
  }
}

}  // namespace puna::kernels
