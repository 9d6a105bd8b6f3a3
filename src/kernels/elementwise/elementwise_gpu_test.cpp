// elementwise.wgsl against elementwise_ref.h on an adapter.
#include <doctest/doctest.h>

#include <vector>

#include "kernels/common/test_util.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/elementwise_ref.h"
#include "kernels/testing/gpu_harness.h"

namespace puna::kernels {
namespace {

constexpr uint32_t kRows = 3;

// Runs one call on y (which starts as `y`) and returns the result.
template <class Describe>
std::vector<float> run(test::GpuHarness& gpu, const std::vector<float>& y,
                       const Describe& describe) {
  const Slice slice = gpu.output(y.size() * 4);
  gpu.write(slice, std::as_bytes(std::span(y)));
  std::vector<KernelCall> calls;
  REQUIRE(describe(slice, calls));
  gpu.run(calls, {.n_tokens = kRows});
  return gpu.read<float>(slice);
}

TEST_CASE("gate, scale, softcap and glu on the GPU match the plain loops") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (const uint32_t n : {1u, 3u, 4u, 129u, 576u, 2048u}) {
    for (const float magnitude : {1e-3f, 1.0f, 300.0f}) {
      CAPTURE(n);
      CAPTURE(magnitude);
      const std::vector<float> x = test::normal(size_t{kRows} * 2 * n, 1, magnitude);
      const std::vector<float> start = test::normal(size_t{kRows} * n, 2, magnitude);
      const Slice x_slice = gpu->upload(x);

      std::vector<float> want;
      for (const uint32_t n_gates : {1u, n}) {
        want = start;
        gate_ref(x.data(), want.data(), kRows, n, n_gates);
        const auto describe = [&](Slice y, auto& calls) {
          return gate(gpu->info(),
                      {.label = "gate", .x = x_slice, .y = y, .n = n, .n_gates = n_gates}, calls);
        };
        CHECK(test::nmse(run(*gpu, start, describe), want) < 1e-10);
      }

      want = start;
      scale_ref(want.data(), want.size(), 0.0625f);
      CHECK(run(*gpu, start, [&](Slice y, auto& calls) {
              return scale(gpu->info(), {.label = "scale", .y = y, .n = n, .scale = 0.0625f},
                           calls);
            }) == want);

      const std::vector<float> factor = {0.0625f};
      CHECK(run(*gpu, start, [&](Slice y, auto& calls) {
              return scale(gpu->info(),
                           {.label = "scale", .y = y, .n = n, .by = gpu->upload(factor)}, calls);
            }) == want);

      want = start;
      softcap_ref(want.data(), want.size(), 30.0f);
      CHECK(test::nmse(run(*gpu, start,
                           [&](Slice y, auto& calls) {
                             return softcap(gpu->info(),
                                            {.label = "cap", .y = y, .n = n, .cap = 30.0f}, calls);
                           }),
                       want) < 1e-10);

      for (const Activation activation : kActivations) {
        glu_ref(x.data(), want.data(), kRows, n, activation);
        const std::vector<float> poison(want.size(), NAN);
        CHECK(test::nmse(run(*gpu, poison,
                             [&](Slice y, auto& calls) {
                               GluArgs args;
                               args.label = "glu";
                               args.gate_up = x_slice;
                               args.y = y;
                               args.n = n;
                               args.activation = activation;
                               return glu(gpu->info(), args, calls);
                             }),
                         want) < 1e-10);
      }
    }
  }
}

TEST_CASE("activations on the GPU stay finite where exp would overflow") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  const std::vector<float> gate_up = {-1e4f, -200, -90, 90, 200, 1e4f, 0, -0.0f,
                                      1,     1,    1,   1,  1,   1,    1, 1};
  for (const Activation activation : kActivations) {
    const Slice y = gpu->output(8 * 4);
    std::vector<KernelCall> calls;
    GluArgs args;
    args.label = "glu";
    args.gate_up = gpu->upload(gate_up);
    args.y = y;
    args.n = 8;
    args.activation = activation;
    REQUIRE(glu(gpu->info(), args, calls));
    gpu->run(calls, {.n_tokens = 1});
    const std::vector<float> got = gpu->read<float>(y);
    if (activation == Activation::kTanh) {
      for (int i = 0; i < 6; ++i) CHECK(got[i] == (i < 3 ? -1.0f : 1.0f));
      continue;
    }
    for (int i = 0; i < 3; ++i) CHECK(std::fabs(got[i]) < 1e-30f);
    for (int i = 3; i < 6; ++i) {
      CHECK(got[i] ==
            (activation == Activation::kReluSquared ? gate_up[i] * gate_up[i] : gate_up[i]));
    }
    CHECK(got[6] == 0.0f);
    CHECK(got[7] == 0.0f);
  }
}

}  // namespace
}  // namespace puna::kernels
