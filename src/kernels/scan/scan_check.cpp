// The self-test of selective scans, and of the state they keep.
#include <fmt/format.h>

#include "kernels/scan/scan.h"
#include "kernels/scan/scan_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/check_step.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> scan_on_gpu(gpu::Device& device, const ScanCpuArgs& args) {
  const ScanShape& s = args.shape;
  std::vector<float> constants(args.a, args.a + s.state_floats());
  constants.insert(constants.end(), args.d, args.d + s.n_channels);
  ScanArgs a;
  return run_with_state(device, args.step, s.state_floats(), args.state, args.y, s.n_channels, a,
                        [&](Workbench& bench) -> Result<std::vector<KernelCall>> {
                          const uint64_t n = args.step.n_tokens;
                          a.label = "scan";
                          a.shape = s;
                          PUNA_TRY(a.x, bench.upload(args.x, n * s.n_channels));
                          PUNA_TRY(a.dt, bench.upload(args.dt, n * s.n_channels));
                          PUNA_TRY(a.bc, bench.upload(args.bc, n * 2 * s.n_state));
                          PUNA_TRY(a.in, bench.upload(args.in, n * s.in_stride));
                          PUNA_TRY(a.constants, bench.upload(std::span<const float>(constants)));
                          std::vector<KernelCall> calls;
                          PUNA_TRY(kernels::scan(bench.info(), a, calls));
                          return calls;
                        });
}

Result<void> scan_on(Check& check, const ScanCpuArgs& args) {
  if (check.gpu()) return scan_on_gpu(*check.gpu(), args);
  scan_cpu(check.pool(), args);
  return {};
}

Result<void> scan(Check& check, const CheckRows& rows) {
  if (!check.wanted("scan", "f32")) return {};
  const ScanShape s{/*n_channels=*/200, /*n_state=*/16, /*in_stride=*/400, /*z_column=*/200};
  const size_t n = rows.n();
  const auto x = normal(n * s.n_channels, 27), dt = normal(n * s.n_channels, 28),
             bc = normal(n * 2 * s.n_state, 29), in = normal(n * s.in_stride, 30),
             a = normal(static_cast<size_t>(s.state_floats()), 31, -2, 0.3f),
             d = normal(s.n_channels, 32);
  auto state = normal(rows.n_sequences() * static_cast<size_t>(s.state_floats()), 33),
       expected_state = state;
  std::vector<float> y(n * s.n_channels), expected(y.size());
  ScanCpuArgs args{rows.step(), x.data(), dt.data(),    bc.data(), in.data(),
                   a.data(),    d.data(), state.data(), y.data(),  s};
  PUNA_TRY(scan_on(check, args));
  args.state = expected_state.data();
  args.y = expected.data();
  scan_ref(args);
  return record_state(check, "scan", "200 channels of 16", rows, y, expected, state,
                      expected_state);
}

}  // namespace

Result<void> check_scan(Check& check) {
  for (const CheckRows& rows : state_steps()) {
    PUNA_TRY(scan(check, rows));
  }
  return {};
}

}  // namespace puna::kernels
