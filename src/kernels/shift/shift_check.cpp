// The self-test of token shifts, and of the state they keep.
#include <fmt/format.h>

#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/check_step.h"
#include "kernels/selftest/measure.h"
#include "kernels/shift/shift.h"
#include "kernels/shift/shift_ref.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> shift_on_gpu(gpu::Device& device, const ShiftCpuArgs& args) {
  const ShiftShape& s = args.shape;
  ShiftArgs a;
  return run_with_state(device, args.step, s.state_floats(), args.state, args.y, s.n, a,
                        [&](Workbench& bench) -> Result<std::vector<KernelCall>> {
                          const uint64_t n = args.step.n_tokens;
                          a.label = "shift";
                          a.shape = s;
                          PUNA_TRY(a.x, bench.upload(args.x, n * s.n));
                          PUNA_TRY(a.mix, bench.upload(args.mix, uint64_t{s.mix_column} + s.n));
                          if (args.by) {
                            PUNA_TRY(a.by, bench.upload(args.by, n * s.by_stride));
                          }
                          std::vector<KernelCall> calls;
                          PUNA_TRY(kernels::shift(bench.info(), a, calls));
                          return calls;
                        });
}

Result<void> shift_on(Check& check, const ShiftCpuArgs& args) {
  if (check.gpu()) return shift_on_gpu(*check.gpu(), args);
  shift_cpu(check.pool(), args);
  return {};
}

Result<void> shift(Check& check, const CheckRows& rows, const ShiftShape& s) {
  if (!check.wanted("shift", "f32")) return {};
  const size_t n = rows.n();
  const auto x = normal(n * s.n, 27), mix = normal(size_t{s.mix_column} + s.n, 28),
             by = normal(n * s.by_stride, 29);
  auto state = normal(rows.n_sequences() * static_cast<size_t>(s.state_floats()), 30),
       expected_state = state;
  std::vector<float> y(n * s.n), expected(y.size());
  ShiftCpuArgs args{rows.step(),  x.data(), mix.data(), s.by_stride > 0 ? by.data() : nullptr,
                    state.data(), y.data(), s};
  PUNA_TRY(shift_on(check, args));
  args.state = expected_state.data();
  args.y = expected.data();
  shift_ref(args);
  return record_state(check, "shift", fmt::format("{} columns", s.n), rows, y, expected, state,
                      expected_state);
}

}  // namespace

Result<void> check_shift(Check& check) {
  for (const CheckRows& rows : state_steps()) {
    PUNA_TRY(shift(check, rows, {200, 400, 0, 0, /*keeps=*/true}));
    PUNA_TRY(shift(check, rows, {96, 0, 480, 192, /*keeps=*/false}));
  }
  return {};
}

}  // namespace puna::kernels
