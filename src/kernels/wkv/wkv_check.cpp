// The self-test of RWKV's recurrence, and of the state it keeps.
#include <fmt/format.h>

#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/check_step.h"
#include "kernels/selftest/measure.h"
#include "kernels/wkv/wkv.h"
#include "kernels/wkv/wkv_ref.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> wkv_on_gpu(gpu::Device& device, const WkvCpuArgs& args) {
  const WkvShape& s = args.shape;
  std::vector<float> constants;
  for (size_t c = 0; c < s.n_constants(); ++c)
    constants.insert(constants.end(), args.constants[c], args.constants[c] + s.n());
  WkvArgs a;
  const auto describe = [&](Workbench& bench) -> Result<std::vector<KernelCall>> {
    const uint64_t n = args.step.n_tokens;
    a.label = "wkv";
    a.shape = s;
    PUNA_TRY(a.in, bench.upload(args.in, n * s.in_stride));
    PUNA_TRY(a.values, bench.upload(args.values, n * s.n()));
    PUNA_TRY(a.constants, bench.upload(std::span<const float>(constants)));
    if (s.rule == WkvRule::kSeven) {
      PUNA_TRY(a.extra, bench.output(n * s.n()));
    }
    std::vector<KernelCall> calls;
    PUNA_TRY(kernels::wkv(bench.info(), a, calls));
    return calls;
  };
  return run_with_state(device, args.step, s.state_floats(), args.state, args.y, s.n(), a,
                        describe);
}

Result<void> wkv_on(Check& check, const WkvCpuArgs& args) {
  if (check.gpu()) return wkv_on_gpu(*check.gpu(), args);
  wkv_cpu(check.pool(), args);
  return {};
}

Result<void> wkv(Check& check, const CheckRows& rows, WkvShape s) {
  if (!check.wanted("wkv", "f32")) return {};
  s.in_stride = s.n_parts() * s.n();
  const size_t n = rows.n();
  const auto in = normal(n * s.in_stride, 33), values = normal(n * s.n(), 34),
             constants = normal(size_t{s.n_constants()} * s.n(), 35);
  auto state = normal(rows.n_sequences() * static_cast<size_t>(s.state_floats()), 36),
       expected_state = state;
  std::vector<float> y(n * s.n()), expected(y.size()), extra(y.size());
  WkvCpuArgs args;
  args.step = rows.step();
  args.in = in.data();
  args.values = values.data();
  for (size_t c = 0; c < s.n_constants(); ++c) args.constants[c] = constants.data() + c * s.n();
  args.state = state.data();
  args.y = y.data();
  args.extra = extra.data();
  args.shape = s;
  PUNA_TRY(wkv_on(check, args));
  args.state = expected_state.data();
  args.y = expected.data();
  wkv_ref(args);
  return record_state(
      check, "wkv",
      fmt::format("{} heads of {}, {} constants", s.n_heads, s.head_dim, s.n_constants()), rows, y,
      expected, state, expected_state);
}

}  // namespace

Result<void> check_wkv(Check& check) {
  for (const CheckRows& rows : state_steps()) {
    PUNA_TRY(wkv(check, rows, {WkvRule::kSix, 2, 64}));
    PUNA_TRY(wkv(check, rows, {WkvRule::kSeven, 2, 64}));
    PUNA_TRY(wkv(check, rows, {WkvRule::kSeven, 2, 64, 0, /*mixes_values=*/true}));
  }
  return {};
}

}  // namespace puna::kernels
