// The plain form of sort.h: an element's place is the number of those that come before it.
#pragma once

#include <cmath>

#include "kernels/sort/sort.h"

namespace puna::kernels {

// Whether element i comes before element j.
inline bool comes_before(const float* x, uint32_t i, uint32_t j, bool descending) {
  if (std::isnan(x[i]) != std::isnan(x[j])) return std::isnan(x[j]);
  if (x[i] < x[j]) return !descending;
  if (x[i] > x[j]) return descending;
  return i < j;
}

inline void sort_indices_ref(const SortCpuArgs& args) {
  const SortShape& s = args.shape;
  for (uint64_t r = 0; r < args.n_rows; ++r) {
    for (uint32_t i = 0; i < s.n; ++i) {
      uint32_t place = 0;
      for (uint32_t j = 0; j < s.n; ++j)
        place += i != j && comes_before(args.x + r * s.n, j, i, s.descending);
      if (place < s.k) args.y[r * s.k + place] = i;
    }
  }
}

}  // namespace puna::kernels
