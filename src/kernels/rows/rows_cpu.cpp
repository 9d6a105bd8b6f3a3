// Rows by index on the CPU.
#include <algorithm>
#include <cstring>
#include <functional>

#include "kernels/rows/rows.h"

namespace puna::kernels {

void move_rows_cpu(base::ThreadPool& pool, const RowsCpuArgs& args) {
  const RowsShape& s = args.shape;
  const size_t bytes = size_t{s.n} * sizeof(float);
  const auto rows = [&](uint32_t begin, uint32_t end) {
    for (size_t i = begin; i < end; ++i) {
      const auto row = static_cast<uint32_t>(args.index[i]);  // a negative index is a large one
      const bool inside = row < s.n_indexed;
      if (s.move == RowMove::kPut) {
        if (inside) std::memcpy(args.y + size_t{row} * s.n, args.x + i * s.n, bytes);
      } else if (inside) {
        std::memcpy(args.y + i * s.n, args.x + size_t{row} * s.n, bytes);
      } else {
        std::fill_n(args.y + i * s.n, s.n, 0.0f);
      }
    }
  };
  pool.run(args.n_rows, std::max(8192 / std::max(s.n, 1u), 1u), std::ref(rows));
}

}  // namespace puna::kernels
