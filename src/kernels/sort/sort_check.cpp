// The self-test of sorting.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"
#include "kernels/sort/sort.h"
#include "kernels/sort/sort_ref.h"

namespace puna::kernels {

using base::Result;

namespace {

constexpr uint32_t kRows = 3;

Result<void> sort_indices_on_gpu(gpu::Device& device, const SortCpuArgs& args) {
  Workbench bench(device);
  const uint64_t n = uint64_t{args.n_rows} * args.shape.k;
  SortArgs a{"sort", {}, {}, args.shape};
  PUNA_TRY(a.x, bench.upload(args.x, uint64_t{args.n_rows} * args.shape.n));
  PUNA_TRY(a.y, bench.output(n));
  return run_and_read(bench, args.n_rows, kernels::sort_indices, a, args.y, n);
}

Result<void> sort_indices_on(Check& check, const SortCpuArgs& args) {
  if (check.gpu()) return sort_indices_on_gpu(*check.gpu(), args);
  sort_indices_cpu(check.pool(), args);
  return {};
}

}  // namespace

Result<void> check_sort(Check& check) {
  for (const bool descending : {false, true}) {
    for (const uint32_t n : {1u, 64u, 1000u}) {
      for (const uint32_t k : {1u, std::min(n, 40u), n}) {
        const std::string_view type = descending ? "descending" : "ascending";
        if (!check.wanted("sort", type)) continue;
        auto x = normal(size_t{kRows} * n, 48);
        for (float& v : x) v = std::round(v * 20) / 20;  // many equal ones, and both zeros
        if (n > 4) {
          x[1] = NAN;
          x[2] = INFINITY;
          x[3] = -INFINITY;
        }
        std::vector<uint32_t> y(size_t{kRows} * k, ~0u), expected = y;
        const SortShape shape{n, k, descending};
        PUNA_TRY(sort_indices_on(check, {x.data(), y.data(), kRows, shape}));
        sort_indices_ref({x.data(), expected.data(), kRows, shape});
        PUNA_TRY(check.record("sort", type, fmt::format("{} of {}, {} rows", k, n, kRows),
                              different(y, expected), 0));
      }
    }
  }
  return {};
}

}  // namespace puna::kernels
