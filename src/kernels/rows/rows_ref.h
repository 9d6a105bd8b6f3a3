// The plain form of rows.h.
#pragma once

#include "kernels/rows/rows.h"

namespace puna::kernels {

inline void move_rows_ref(const RowsCpuArgs& args) {
  const RowsShape& s = args.shape;
  for (uint64_t i = 0; i < args.n_rows; ++i) {
    const int64_t row = args.index[i];
    const bool inside = row >= 0 && row < int64_t{s.n_indexed};
    for (uint64_t j = 0; j < s.n; ++j) {
      const uint64_t at = inside ? static_cast<uint64_t>(row) * s.n + j : 0;
      if (s.move == RowMove::kTake) {
        args.y[i * s.n + j] = inside ? args.x[at] : 0;
      } else if (inside) {
        args.y[at] = args.x[i * s.n + j];
      }
    }
  }
}

}  // namespace puna::kernels
