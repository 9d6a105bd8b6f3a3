// The self-test of reductions.
#include <fmt/format.h>

#include <cmath>

#include "kernels/reduce/reduce.h"
#include "kernels/reduce/reduce_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

constexpr uint32_t kRows = 3;

Result<void> reduce_on_gpu(gpu::Device& device, const ReduceCpuArgs& args) {
  Workbench bench(device);
  const uint64_t n_rows = uint64_t{args.n_rows} * args.shape.n_parts;
  const uint64_t n = n_rows * args.shape.y_columns();
  ReduceArgs a{"reduce", {}, {}, args.shape};
  PUNA_TRY(a.x, bench.upload(args.x, n_rows * args.shape.n));
  PUNA_TRY(a.y, bench.output(n));
  return run_and_read(bench, args.n_rows, kernels::reduce, a, static_cast<uint32_t*>(args.y), n);
}

Result<void> reduce_on(Check& check, const ReduceCpuArgs& args) {
  if (check.gpu()) return reduce_on_gpu(*check.gpu(), args);
  reduce_cpu(check.pool(), args);
  return {};
}

}  // namespace

Result<void> check_reduce(Check& check) {
  for (const Reduction reduction : kReductions) {
    for (const uint32_t n : {1u, 33u, 576u, 9001u}) {
      if (!check.wanted("reduce", name(reduction))) continue;
      const ReduceShape shape{reduction, n, 2};
      auto x = normal(size_t{kRows} * 2 * n, 45, 0.5f);
      x[n / 2] = x[n - 1] = 50;  // equal, and the largest
      x[n] = NAN;                // not the largest of the second row
      if (reduction != Reduction::kArgmax) x[n] = 1;
      std::vector<float> y(size_t{kRows} * 2 * shape.y_columns()), expected = y;
      PUNA_TRY(reduce_on(check, {x.data(), y.data(), kRows, shape}));
      reduce_ref({x.data(), expected.data(), kRows, shape});
      const bool exact = reduction == Reduction::kArgmax;
      PUNA_TRY(check.record("reduce", name(reduction), fmt::format("{} rows of 2x{}", kRows, n),
                            exact ? different(y, expected) : nmse(y, expected),
                            exact ? 0 : kF32Limit));
    }
  }
  return {};
}

}  // namespace puna::kernels
