// The plain form of gather.h.
#pragma once

#include <cstdint>

namespace puna::kernels {

inline void gather_rows_ref(const float* x, uint32_t n, const uint32_t* output_rows,
                            uint32_t n_outputs, float* y) {
  for (uint64_t i = 0; i < n_outputs; ++i) {
    for (uint64_t j = 0; j < n; ++j) y[i * n + j] = x[uint64_t{output_rows[i]} * n + j];
  }
}

}  // namespace puna::kernels
