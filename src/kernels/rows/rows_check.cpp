// The self-test of rows taken and put.
#include <fmt/format.h>

#include "kernels/rows/rows.h"
#include "kernels/rows/rows_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> move_rows_on_gpu(gpu::Device& device, const RowsCpuArgs& args) {
  Workbench bench(device);
  const RowsShape& s = args.shape;
  const bool take = s.move == RowMove::kTake;
  const uint64_t n_moved = uint64_t{args.n_rows} * s.n, n_indexed = uint64_t{s.n_indexed} * s.n;
  RowsArgs a{"rows", {}, {}, {}, s};
  PUNA_TRY(a.x, bench.upload(args.x, take ? n_indexed : n_moved));
  PUNA_TRY(a.index, bench.upload(args.index, args.n_rows));
  PUNA_TRY(a.y, bench.upload(args.y, take ? n_moved : n_indexed));
  return run_and_read(bench, args.n_rows, kernels::move_rows, a, args.y,
                      take ? n_moved : n_indexed);
}

Result<void> move_rows_on(Check& check, const RowsCpuArgs& args) {
  if (check.gpu()) return move_rows_on_gpu(*check.gpu(), args);
  move_rows_cpu(check.pool(), args);
  return {};
}

}  // namespace

Result<void> check_rows(Check& check) {
  for (const RowMove move : {RowMove::kTake, RowMove::kPut}) {
    for (const uint32_t n : {1u, 7u, 64u, 577u}) {
      const std::string_view type = move == RowMove::kTake ? "take" : "put";
      if (!check.wanted("rows", type)) continue;
      const std::vector<int32_t> index = {9, 0, -1, 4, 10, 3};
      const auto x = normal(size_t{10} * n, 44);
      std::vector<float> y(size_t{10} * n, 0.5f), expected = y;
      const RowsShape shape{move, n, 10};
      PUNA_TRY(move_rows_on(check, {x.data(), index.data(), y.data(), 6, shape}));
      move_rows_ref({x.data(), index.data(), expected.data(), 6, shape});
      PUNA_TRY(check.record("rows", type, fmt::format("6 of 10 rows of {}", n),
                            different(y, expected), 0));
    }
  }
  return {};
}

}  // namespace puna::kernels
