// The self-test of RMS norms.
#include <fmt/format.h>

#include "kernels/norm/norm.h"
#include "kernels/norm/norm_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> norm_on_gpu(gpu::Device& device, const NormCpuArgs& args) {
  Workbench bench(device);
  const uint64_t n = uint64_t{args.n_rows} * args.n;
  NormArgs a;
  a.label = "norm";
  PUNA_TRY(a.step, bench.step(args.n_rows));
  PUNA_TRY(a.x, bench.upload(args.x, n));
  if (args.post_gamma) {
    PUNA_TRY(a.post_gamma, bench.upload(args.post_gamma, args.n));
  }
  if (args.residual) {
    PUNA_TRY(a.residual, bench.upload(static_cast<const float*>(args.residual), n));
  }
  if (args.gamma) {
    PUNA_TRY(a.gamma, bench.upload(args.gamma, args.n));
  }
  if (args.y) {
    PUNA_TRY(a.y, bench.output(n));
  }
  a.n = args.n;
  a.eps = args.eps;
  PUNA_TRY(run_rows(bench, kernels::rms_norm, a, args.n_rows));
  if (args.residual) PUNA_TRY(bench.read(*a.residual, args.residual, n));
  if (args.y) PUNA_TRY(bench.read(*a.y, args.y, n));
  return {};
}

Result<void> norm_on(Check& check, const NormCpuArgs& args) {
  if (check.gpu()) return norm_on_gpu(*check.gpu(), args);
  rms_norm_cpu(check.pool(), args);
  return {};
}

// form 0: plain; 1: with residual; 2: post-norm and residual; 3: post-norm and residual, no
// result but the residual
Result<void> norm(Check& check, uint32_t n, int form) {
  if (!check.wanted("norm", "f32")) return {};
  const uint32_t n_rows = 3;
  const auto x = normal(size_t{n_rows} * n, 5), gamma = normal(n, 6, 1, 0.3f),
             post = normal(n, 7, 1, 0.3f);
  auto residual = normal(size_t{n_rows} * n, 8), expected_residual = residual;
  std::vector<float> y(x.size()), expected(x.size());
  NormCpuArgs args;
  args.x = x.data();
  args.post_gamma = form >= 2 ? post.data() : nullptr;
  args.residual = form >= 1 ? residual.data() : nullptr;
  args.gamma = form < 3 ? gamma.data() : nullptr;
  args.y = form < 3 ? y.data() : nullptr;
  args.n_rows = n_rows;
  args.n = n;
  PUNA_TRY(norm_on(check, args));
  if (args.residual) args.residual = expected_residual.data();
  if (args.y) args.y = expected.data();
  rms_norm_ref(args);
  y.insert(y.end(), residual.begin(), residual.end());
  expected.insert(expected.end(), expected_residual.begin(), expected_residual.end());
  static constexpr const char* kForms[] = {"", " + residual", " + post, residual",
                                           " + post, residual, no result"};
  return check.record("norm", "f32", fmt::format("{} rows of {}{}", n_rows, n, kForms[form]),
                      nmse(y, expected), kF32Limit);
}

}  // namespace

Result<void> check_norm(Check& check) {
  for (const uint32_t n : {33u, 576u, 4096u}) {
    for (const int form : {0, 1, 2, 3}) PUNA_TRY(norm(check, n, form));
  }
  return {};
}

}  // namespace puna::kernels
