// The self-test of functions of two numbers.
#include <fmt/format.h>

#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/binary_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

constexpr uint32_t kRows = 3;

Result<void> binary_on_gpu(gpu::Device& device, const BinaryCpuArgs& args) {
  Workbench bench(device);
  const BinaryShape& s = args.shape;
  const uint64_t n = uint64_t{args.n_rows} * s.n;
  const uint64_t n_x = s.spread == Spread::kElements ? n * s.n_parts
                       : s.spread == Spread::kRow    ? s.n
                       : s.spread == Spread::kColumn ? args.n_rows
                                                     : 1;
  BinaryArgs a{"binary", {}, {}, s};
  a.x_is_constant = s.spread == Spread::kRow;
  PUNA_TRY(a.x, bench.upload(args.x, n_x));
  PUNA_TRY(a.y, bench.upload(args.y, n));
  return run_and_read(bench, args.n_rows, kernels::binary, a, args.y, n);
}

Result<void> binary_on(Check& check, const BinaryCpuArgs& args) {
  if (check.gpu()) return binary_on_gpu(*check.gpu(), args);
  binary_cpu(check.pool(), args);
  return {};
}

}  // namespace

Result<void> check_binary(Check& check) {
  for (const Binary op : kBinaries) {
    for (const Spread spread : {Spread::kElements, Spread::kRow, Spread::kColumn, Spread::kOne}) {
      for (const uint32_t n : {1u, 33u, 576u}) {
        if (!check.wanted("binary", name(op))) continue;
        BinaryShape shape{op, n, spread};
        if (spread == Spread::kElements && n == 33) {
          shape.part = 1;
          shape.n_parts = 2;
        }
        const auto x = normal(size_t{kRows} * n * shape.n_parts, 41, 3, 0.5f);
        auto y = normal(size_t{kRows} * n, 42), expected = y;
        PUNA_TRY(binary_on(check, {x.data(), y.data(), kRows, shape}));
        binary_ref({x.data(), expected.data(), kRows, shape});
        PUNA_TRY(check.record("binary", name(op),
                              fmt::format("{} rows of {} with {}", kRows, n, name(spread)),
                              nmse(y, expected), kF32Limit));
      }
    }
  }
  return {};
}

}  // namespace puna::kernels
