// The self-test of norms of groups.
#include <fmt/format.h>

#include "kernels/group_norm/group_norm.h"
#include "kernels/group_norm/group_norm_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> group_norm_on_gpu(gpu::Device& device, const GroupNormCpuArgs& args) {
  Workbench bench(device);
  const uint64_t n = uint64_t{args.n_rows} * args.shape.n;
  GroupNormArgs g;
  g.label = "group norm";
  g.shape = args.shape;
  PUNA_TRY(g.x, bench.upload(args.x, n));
  PUNA_TRY(g.gamma, bench.upload(args.gamma, args.shape.n_gamma));
  if (args.gate) {
    PUNA_TRY(g.gate, bench.upload(args.gate, uint64_t{args.n_rows} * args.shape.gate_stride));
  }
  PUNA_TRY(g.y, bench.output(n));
  PUNA_TRY(run_rows(bench, kernels::group_norm, g, args.n_rows));
  return bench.read(g.y, args.y, n);
}

Result<void> group_norm_on(Check& check, const GroupNormCpuArgs& args) {
  if (check.gpu()) return group_norm_on_gpu(*check.gpu(), args);
  group_norm_cpu(check.pool(), args);
  return {};
}

}  // namespace

Result<void> check_group_norm(Check& check) {
  if (!check.wanted("group norm", "f32")) return {};
  const uint32_t n_rows = 3, n = 256, n_groups = 2;
  const auto x = normal(size_t{n_rows} * n, 20), by = normal(x.size(), 21, 0, 3);
  const auto gamma = normal(n, 22, 1, 0.3f);
  std::vector<float> y(x.size()), expected(x.size());
  GroupNormCpuArgs args{x.data(), gamma.data(), by.data(),
                        y.data(), n_rows,       {n, n_groups, n / n_groups, n, 0, 1e-6f}};
  PUNA_TRY(group_norm_on(check, args));
  args.y = expected.data();
  group_norm_ref(args);
  return check.record("group norm", "f32", fmt::format("{} rows of {}x{}", n_rows, n_groups, n / 2),
                      nmse(y, expected), kF32Limit);
}

}  // namespace puna::kernels
