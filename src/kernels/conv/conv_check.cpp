// The self-test of causal convolutions, and of the state they keep.
#include <fmt/format.h>

#include "kernels/conv/conv.h"
#include "kernels/conv/conv_ref.h"
#include "kernels/selftest/check.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/selftest/check_step.h"
#include "kernels/selftest/measure.h"

namespace puna::kernels {

using base::Result;

namespace {

Result<void> conv_on_gpu(gpu::Device& device, const ConvCpuArgs& args) {
  const ConvShape& s = args.shape;
  std::vector<float> weights(args.weights, args.weights + size_t{s.n_channels} * s.n_taps);
  if (args.bias) weights.insert(weights.end(), args.bias, args.bias + s.n_channels);
  ConvArgs c;
  return run_with_state(device, args.step, s.state_floats(), args.state, args.y, s.n_channels, c,
                        [&](Workbench& bench) -> Result<std::vector<KernelCall>> {
                          c.label = "conv";
                          c.shape = s;
                          PUNA_TRY(c.x,
                                   bench.upload(args.x, uint64_t{args.step.n_tokens} * s.x_stride));
                          PUNA_TRY(c.weights, bench.upload(std::span<const float>(weights)));
                          std::vector<KernelCall> calls;
                          PUNA_TRY(kernels::conv(bench.info(), c, calls));
                          return calls;
                        });
}

Result<void> conv_on(Check& check, const ConvCpuArgs& args) {
  if (check.gpu()) return conv_on_gpu(*check.gpu(), args);
  conv_cpu(check.pool(), args);
  return {};
}

Result<void> conv(Check& check, const CheckRows& rows, const ConvShape& s) {
  if (!check.wanted("conv", "f32")) return {};
  const auto x = normal(size_t{rows.n()} * s.x_stride, 23);
  const auto weights = normal(size_t{s.n_channels} * s.n_taps, 24);
  const auto bias = normal(s.n_channels, 25);
  auto state = normal(rows.n_sequences() * static_cast<size_t>(s.state_floats()), 26),
       expected_state = state;
  std::vector<float> y(size_t{rows.n()} * s.n_channels), expected(y.size());
  ConvCpuArgs args{
      rows.step(), x.data(), weights.data(), s.has_bias ? bias.data() : nullptr, state.data(),
      y.data(),    s};
  PUNA_TRY(conv_on(check, args));
  args.state = expected_state.data();
  args.y = expected.data();
  conv_ref(args);
  return record_state(check, "conv", fmt::format("{} taps", s.n_taps), rows, y, expected, state,
                      expected_state);
}

}  // namespace

Result<void> check_conv(Check& check) {
  for (const CheckRows& rows : state_steps()) {
    PUNA_TRY(conv(check, rows, {96, 4, 100, 3, true, ConvForm::kSilu}));
    PUNA_TRY(conv(check, rows, {96, 3, 288, 0, false, ConvForm::kGated}));
  }
  return {};
}

}  // namespace puna::kernels
