// The self-test of state space scans, and of the state they keep.
#include <fmt/format.h>

#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/check_step.h"
#include "kernels/selftest/measure.h"
#include "kernels/ssd/ssd.h"
#include "kernels/ssd/ssd_ref.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> ssd_on_gpu(gpu::Device& device, const SsdCpuArgs& args) {
  const SsdShape& s = args.shape;
  std::vector<float> constants;
  for (const float* part : {args.a, args.d, args.dt_bias})
    constants.insert(constants.end(), part, part + s.n_heads);
  SsdArgs a;
  return run_with_state(
      device, args.step, s.state_floats(), args.state, args.y, s.inner(), a,
      [&](Workbench& bench) -> Result<std::vector<KernelCall>> {
        a.label = "ssd";
        a.shape = s;
        PUNA_TRY(a.xbc, bench.upload(args.xbc, uint64_t{args.step.n_tokens} * s.xbc_columns()));
        PUNA_TRY(a.in, bench.upload(args.in, uint64_t{args.step.n_tokens} * s.in_stride));
        PUNA_TRY(a.constants, bench.upload(std::span<const float>(constants)));
        std::vector<KernelCall> calls;
        PUNA_TRY(kernels::ssd(bench.info(), a, calls));
        return calls;
      });
}

Result<void> ssd_on(Check& check, const SsdCpuArgs& args) {
  if (check.gpu()) return ssd_on_gpu(*check.gpu(), args);
  ssd_cpu(check.pool(), args);
  return {};
}

Result<void> ssd(Check& check, const CheckRows& rows) {
  if (!check.wanted("ssd", "f32")) return {};
  SsdShape s{4, 64, 128, 2};
  s.dt_column = s.inner();
  s.in_stride = s.inner() + s.n_heads;
  const auto xbc = normal(size_t{rows.n()} * s.xbc_columns(), 27);
  const auto in = normal(size_t{rows.n()} * s.in_stride, 28);
  const auto a = normal(s.n_heads, 29, -2, 0.3f), d = normal(s.n_heads, 30),
             bias = normal(s.n_heads, 31);
  auto state = normal(rows.n_sequences() * static_cast<size_t>(s.state_floats()), 32),
       expected_state = state;
  std::vector<float> y(size_t{rows.n()} * s.inner()), expected(y.size());
  SsdCpuArgs args{rows.step(), xbc.data(),   in.data(), a.data(), d.data(),
                  bias.data(), state.data(), y.data(),  s};
  PUNA_TRY(ssd_on(check, args));
  args.state = expected_state.data();
  args.y = expected.data();
  ssd_ref(args);
  return record_state(check, "ssd", "4 heads of 64x128", rows, y, expected, state, expected_state);
}

}  // namespace

Result<void> check_ssd(Check& check) {
  for (const CheckRows& rows : state_steps()) {
    PUNA_TRY(ssd(check, rows));
  }
  return {};
}

}  // namespace puna::kernels
