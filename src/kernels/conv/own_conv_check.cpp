// The self-test of causal convolutions over rows of a step.
#include <fmt/format.h>

#include "kernels/conv/own_conv.h"
#include "kernels/conv/own_conv_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> own_conv_on_gpu(gpu::Device& device, const OwnConvCpuArgs& args) {
  Workbench bench(device);
  const OwnConvShape& s = args.shape;
  const uint64_t n = uint64_t{args.n_rows} * s.n_channels;
  OwnConvArgs a{"own_conv", {}, {}, {}, {}, s};
  PUNA_TRY(a.x, bench.upload(args.x, n));
  PUNA_TRY(a.weights, bench.upload(args.weights, uint64_t{s.n_channels} * s.n_taps));
  PUNA_TRY(a.before, bench.upload(args.before, uint64_t{args.n_rows} * s.before_stride));
  PUNA_TRY(a.y, bench.upload(args.y, n));
  return run_and_read(bench, args.n_rows, kernels::own_conv, a, args.y, n);
}

Result<void> own_conv_on(Check& check, const OwnConvCpuArgs& args) {
  if (check.gpu()) return own_conv_on_gpu(*check.gpu(), args);
  own_conv_cpu(check.pool(), args);
  return {};
}

}  // namespace

Result<void> check_own_conv(Check& check) {
  constexpr uint32_t kOfSounds[] = {3, 1, 9};  // rows
  for (const OwnConvShape& s : {OwnConvShape{1, 1, 1}, {66, 5, 3}, {128, 8, 1}}) {
    if (!check.wanted("own_conv", "f32")) continue;
    const std::vector<float> before = rows_before(kOfSounds, s.before_stride);
    const auto n_rows = static_cast<uint32_t>(before.size() / s.before_stride);
    const auto x = normal(size_t{n_rows} * s.n_channels, 61);
    const auto w = normal(size_t{s.n_channels} * s.n_taps, 62);
    std::vector<float> y(x.size()), expected(x.size());
    PUNA_TRY(own_conv_on(check, {x.data(), w.data(), before.data(), y.data(), n_rows, s}));
    own_conv_ref({x.data(), w.data(), before.data(), expected.data(), n_rows, s});
    PUNA_TRY(check.record("own_conv", "f32",
                          fmt::format("{} rows of {}, {} taps", n_rows, s.n_channels, s.n_taps),
                          nmse(y, expected), kF32Limit));
  }
  return {};
}

}  // namespace puna::kernels
