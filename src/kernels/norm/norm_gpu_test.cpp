// norm.wgsl against norm_ref.h on an adapter.
#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "base/half.h"
#include "kernels/common/test_util.h"
#include "kernels/norm/norm.h"
#include "kernels/norm/norm_ref.h"
#include "kernels/testing/gpu_harness.h"

namespace puna::kernels {
namespace {

void check_norm(test::Features features, uint32_t n_rows, uint32_t n, int options,
                float magnitude) {
  const auto gpu = test::GpuHarness::open(features);
  if (!gpu) return;
  CAPTURE(n_rows);
  CAPTURE(n);
  CAPTURE(options);
  const std::vector<float> x = test::normal(size_t{n_rows} * n, 1, magnitude);
  const std::vector<float> post = test::normal(n, 2), gamma = test::normal(n, 3);
  std::vector<float> residual = test::normal(size_t{n_rows} * n, 4);
  std::vector<float> y(size_t{n_rows} * n);

  NormArgs args;
  args.label = "norm";
  args.x = gpu->upload(x);
  if (options & 1) args.post_gamma = gpu->upload(post);
  if (options & 2) {
    args.residual = gpu->output(residual.size() * 4);
    gpu->write(*args.residual, std::as_bytes(std::span(residual)));
  }
  const std::vector<float> scale = {0.75f};
  if (options & 8) args.scale = gpu->upload(scale);
  if (options & 4) {
    args.gamma = gpu->upload(gamma);
    args.y = gpu->output(y.size() * 4);
  }
  args.n = n;
  args.eps = 1e-5f;
  std::vector<KernelCall> calls;
  REQUIRE(rms_norm(gpu->info(), args, calls));
  gpu->run(calls, {.n_tokens = n_rows});

  NormCpuArgs ref;
  ref.x = x.data();
  if (options & 1) ref.post_gamma = post.data();
  if (options & 2) ref.residual = residual.data();
  if (options & 8) ref.scale = scale.data();
  if (options & 4) {
    ref.gamma = gamma.data();
    ref.y = y.data();
  }
  ref.n_rows = n_rows;
  ref.n = n;
  ref.eps = args.eps;
  rms_norm_ref(ref);
  if (options & 2) CHECK(test::nmse(gpu->read<float>(*args.residual), residual) < 1e-10);
  if (options & 4) CHECK(test::nmse(gpu->read<float>(*args.y), y) < 1e-10);
}

TEST_CASE("rms_norm on the GPU is right for every operand it may leave out and any row length") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    for (int options = 2; options < 8; ++options) check_norm(features, 3, 576, options, 1.0f);
    for (const uint32_t n :
         {1u, 2u, 3u, 4u, 31u, 63u, 64u, 130u, 255u, 2048u, 2051u, 5120u, 11008u, 20000u})
      check_norm(features, 2, n, 7, 1.0f);
    check_norm(features, 512, 64, 6, 1.0f);
    check_norm(features, 3, 576, 15, 1.0f);
    check_norm(features, 3, 31, 11, 1.0f);
  }
}

TEST_CASE("rms_norm leaves f16 for tiles: rows beyond its range by a power of two, which it says") {
  constexpr uint32_t kRows = 3, kRoom = 5, kN = 576;
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    const std::vector<float> x = test::normal(size_t{kRows} * kN, 1);
    std::vector<float> gamma = test::normal(kN, 2);
    for (const float largest : {1.0f, 1e6f}) {
      CAPTURE(largest);
      gamma[7] = largest;
      NormArgs args;
      args.label = "norm";
      args.x = gpu->upload(x);
      args.gamma = gpu->upload(gamma);
      args.y16 = {gpu->output(kRoom * (kN * 2 + 16)), kRoom};
      args.n = kN;
      std::vector<KernelCall> calls;
      REQUIRE(rms_norm(gpu->info(), args, calls));
      gpu->run(calls, {.n_tokens = kRows});
      const auto halves = gpu->read<uint16_t>(args.y16->place);
      const auto exponents = gpu->read<uint32_t>(args.y16->place);
      std::vector<float> want(x.size()), got(x.size());
      NormCpuArgs ref;
      ref.x = x.data();
      ref.gamma = gamma.data();
      ref.y = want.data();
      ref.n_rows = kRows;
      ref.n = kN;
      ref.eps = args.eps;
      rms_norm_ref(ref);
      for (uint32_t row = 0; row < kRows; ++row) {
        const uint32_t exponent = exponents[kRoom * kN / 2 + row * 4];
        if (largest == 1) CHECK(exponent == 0);
        for (uint32_t i = 0; i < kN; ++i) {
          const float half = base::f16_to_f32(halves[row * kN + i]);
          CHECK(std::isfinite(half));
          got[row * kN + i] = std::ldexp(half, static_cast<int>(exponent));
        }
      }
      CHECK(test::nmse(got, want) < 1e-7);
    }
    NormArgs args;
    args.gamma = args.y = gpu->output(4 * 40);
    args.x = gpu->output(4 * 40);
    args.y16 = {gpu->output(96), 1};
    args.n = 32;
    std::vector<KernelCall> calls;
    CHECK_FALSE(rms_norm(gpu->info(), args, calls));  // beside f32
    args.y.reset();
    args.n = 40;
    CHECK_FALSE(rms_norm(gpu->info(), args, calls));  // no whole units
  }
}

TEST_CASE("rms_norm on the GPU keeps to its limit for tiny and large rows") {
  check_norm(test::Features::kAll, 2, 896, 7, 1e-4f);
  check_norm(test::Features::kAll, 2, 896, 7, 3e4f);
}

}  // namespace
}  // namespace puna::kernels
