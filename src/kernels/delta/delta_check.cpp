// The self-test of the gated delta rule, and of the state it keeps.
#include <fmt/format.h>

#include "kernels/delta/delta.h"
#include "kernels/delta/delta_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/check_step.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> delta_on_gpu(gpu::Device& device, const DeltaCpuArgs& args) {
  const DeltaShape& s = args.shape;
  std::vector<float> constants(args.a, args.a + s.n_value_heads);
  constants.insert(constants.end(), args.dt_bias, args.dt_bias + s.n_value_heads);
  DeltaArgs d;
  return run_with_state(
      device, args.step, s.state_floats(), args.state, args.y, s.value_columns(), d,
      [&](Workbench& bench) -> Result<std::vector<KernelCall>> {
        d.label = "delta";
        d.shape = s;
        PUNA_TRY(d.qkv, bench.upload(args.qkv, uint64_t{args.step.n_tokens} * s.qkv_columns()));
        PUNA_TRY(d.in, bench.upload(args.in, uint64_t{args.step.n_tokens} * s.in_stride));
        PUNA_TRY(d.constants, bench.upload(std::span<const float>(constants)));
        std::vector<KernelCall> calls;
        PUNA_TRY(kernels::delta(bench.info(), d, calls));
        return calls;
      });
}

Result<void> delta_on(Check& check, const DeltaCpuArgs& args) {
  if (check.gpu()) return delta_on_gpu(*check.gpu(), args);
  delta_cpu(check.pool(), args);
  return {};
}

Result<void> delta(Check& check, const CheckRows& rows) {
  if (!check.wanted("delta", "f32")) return {};
  DeltaShape s{2, 4, 128, 128};
  s.in_stride = 2 * s.n_value_heads;
  s.alpha_column = s.n_value_heads;
  s.head_stride = s.ratio();
  const auto qkv = normal(size_t{rows.n()} * s.qkv_columns(), 33);
  const auto in = normal(size_t{rows.n()} * s.in_stride, 34);
  const auto a = normal(s.n_value_heads, 35, -2, 0.3f), bias = normal(s.n_value_heads, 36);
  auto state = normal(rows.n_sequences() * static_cast<size_t>(s.state_floats()), 37),
       expected_state = state;
  std::vector<float> y(size_t{rows.n()} * s.value_columns()), expected(y.size());
  DeltaCpuArgs args{rows.step(), qkv.data(),   in.data(), a.data(),
                    bias.data(), state.data(), y.data(),  s};
  PUNA_TRY(delta_on(check, args));
  args.state = expected_state.data();
  args.y = expected.data();
  delta_ref(args);
  return record_state(check, "delta", "4 heads of 128x128", rows, y, expected, state,
                      expected_state);
}

}  // namespace

Result<void> check_delta(Check& check) {
  for (const CheckRows& rows : state_steps()) {
    PUNA_TRY(delta(check, rows));
  }
  return {};
}

}  // namespace puna::kernels
