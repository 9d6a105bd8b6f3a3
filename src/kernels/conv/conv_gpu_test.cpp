// conv.wgsl against conv_ref.h on an adapter.
#include <doctest/doctest.h>

#include "kernels/common/test_util.h"
#include "kernels/conv/conv_ref.h"
#include "kernels/testing/gpu_harness.h"
#include "kernels/testing/runs.h"

namespace puna::kernels {
namespace {

void check_conv(test::Features features, const ConvShape& shape, uint32_t max_rows) {
  const auto gpu = test::GpuHarness::open(features);
  if (!gpu) return;
  for (const test::TestStep& step : test::state_steps()) {
    if (step.n_tokens() > max_rows) continue;
    CAPTURE(shape.n_taps);
    CAPTURE(shape.n_channels);
    CAPTURE(max_rows);
    const auto x = test::normal(size_t{step.n_tokens()} * shape.x_stride, 1);
    const size_t n_weights = size_t{shape.n_channels} * (shape.n_taps + shape.has_bias);
    const auto weights = test::normal(n_weights, 2);
    auto state = test::normal(test::kStateSequences * static_cast<size_t>(shape.state_floats()), 4);
    std::vector<float> y(size_t{step.n_tokens()} * shape.n_channels);

    ConvArgs args;
    args.label = "conv";
    args.step = gpu->upload(step.words());
    args.x = gpu->upload(x);
    args.weights = gpu->upload(weights);
    args.state = gpu->upload(state);
    args.y = gpu->output(y.size() * 4);
    args.shape = shape;
    args.max_rows = max_rows;
    std::vector<KernelCall> calls;
    REQUIRE(conv(gpu->info(), args, calls));
    gpu->run(calls, {.n_tokens = step.n_tokens()});

    const float* bias = shape.has_bias ? weights.data() + shape.n_channels * shape.n_taps : nullptr;
    conv_ref({step.cpu(), x.data(), weights.data(), bias, state.data(), y.data(), shape});
    CHECK(test::nmse(gpu->read<float>(args.y), y) < 1e-10);
    CHECK(test::nmse(gpu->read<float>(args.state), state) < 1e-10);
  }
}

TEST_CASE("conv on the GPU is right for every form, for single rows, batches and chunks") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    for (const uint32_t max_rows : {1u, 4u, 16u, 512u}) {
      check_conv(features, {70, 4, 211, 3, true, ConvForm::kSilu}, max_rows);
      check_conv(features, {64, 3, 192, 0, false, ConvForm::kGated}, max_rows);
    }
    check_conv(features, {33, 2, 33, 0, true, ConvForm::kPlain}, 512);
    check_conv(features, {33, 8, 40, 7, false, ConvForm::kPlain}, 512);
  }
}

}  // namespace
}  // namespace puna::kernels
