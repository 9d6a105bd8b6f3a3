// The self-test of attention to the rows right before.
#include <fmt/format.h>

#include "kernels/local_attention/local_attention.h"
#include "kernels/local_attention/local_attention_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> local_attention_on_gpu(gpu::Device& device, const LocalAttentionCpuArgs& args) {
  Workbench bench(device);
  const LocalAttentionShape& s = args.shape;
  const uint64_t n = uint64_t{args.n_rows} * s.width();
  LocalAttentionArgs a;
  a.label = "local_attention";
  a.shape = s;
  PUNA_TRY(a.q, bench.upload(args.q, n));
  PUNA_TRY(a.k, bench.upload(args.k, n));
  PUNA_TRY(a.v, bench.upload(args.v, n));
  PUNA_TRY(a.gamma, bench.upload(args.gamma, s.head_dim));
  PUNA_TRY(a.far, bench.upload(args.far, uint64_t{s.window} * s.width()));
  PUNA_TRY(a.before, bench.upload(args.before, uint64_t{args.n_rows} * s.before_stride));
  PUNA_TRY(a.y, bench.upload(args.y, n));
  return run_and_read(bench, args.n_rows, kernels::local_attention, a, args.y, n);
}

Result<void> local_attention_on(Check& check, const LocalAttentionCpuArgs& args) {
  if (check.gpu()) return local_attention_on_gpu(*check.gpu(), args);
  local_attention_cpu(check.pool(), args);
  return {};
}

}  // namespace

Result<void> check_local_attention(Check& check) {
  constexpr uint32_t kOfSounds[] = {1, 7, 40};  // rows
  for (const LocalAttentionShape& s : {LocalAttentionShape{1, 3, 1, 1, 0.7f, 1.9f, 2},
                                       {2, 16, 12, 4, 0.3f, 1.9f, 5},
                                       {3, 128, 33, 1, 0.1f, 1.0f, 50}}) {
    if (!check.wanted("local_attention", "f32")) continue;
    const std::vector<float> before = rows_before(kOfSounds, s.before_stride);
    const auto n_rows = static_cast<uint32_t>(before.size() / s.before_stride);
    const size_t n = size_t{n_rows} * s.width();
    const auto q = normal(n, 71), k = normal(n, 72), v = normal(n, 73);
    const auto gamma = normal(s.head_dim, 74, 1, 0.3f),
               far = normal(size_t{s.window} * s.width(), 75);
    std::vector<float> y(n), expected(n);
    LocalAttentionCpuArgs args{
        q.data(), k.data(), v.data(), gamma.data(), far.data(), before.data(), y.data(), n_rows, s};
    PUNA_TRY(local_attention_on(check, args));
    args.y = expected.data();
    local_attention_ref(args);
    PUNA_TRY(check.record("local_attention", "f32",
                          fmt::format("{} rows of {} heads of {}, window {}", n_rows, s.n_heads,
                                      s.head_dim, s.window),
                          nmse(y, expected), kF32Limit));
  }
  return {};
}

}  // namespace puna::kernels
