// The order of a row's elements on the CPU.
#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "kernels/sort/sort.h"
#include "kernels/sort/sort_ref.h"

namespace puna::kernels {

void sort_indices_cpu(base::ThreadPool& pool, const SortCpuArgs& args) {
  const SortShape& s = args.shape;
  const auto rows = [&](uint32_t begin, uint32_t end) {
    std::vector<uint32_t> order(s.n);
    for (size_t r = begin; r < end; ++r) {
      std::iota(order.begin(), order.end(), 0u);
      std::partial_sort(order.begin(), order.begin() + s.k, order.end(),
                        [&](uint32_t i, uint32_t j) {
                          return comes_before(args.x + r * s.n, i, j, s.descending);
                        });
      std::copy_n(order.begin(), s.k, args.y + r * s.k);
    }
  };
  pool.run(args.n_rows, 1, std::ref(rows));
}

}  // namespace puna::kernels
