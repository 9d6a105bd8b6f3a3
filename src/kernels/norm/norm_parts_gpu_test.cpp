// norm_parts.wgsl against norm_parts_ref.h on an adapter.
#include <doctest/doctest.h>

#include <vector>

#include "kernels/common/test_util.h"
#include "kernels/norm/norm_parts_ref.h"
#include "kernels/testing/gpu_harness.h"

namespace puna::kernels {
namespace {

void check(test::GpuHarness& gpu, const NormPartsShape& shape, bool in_place, bool beta) {
  constexpr uint32_t kRows = 3;
  CAPTURE(shape.n);
  CAPTURE(shape.n_parts);
  CAPTURE(in_place);
  std::vector<float> x = test::normal(size_t{kRows} * shape.x_stride, 1, 2.0f);
  for (float& v : x) v += 2.0f;
  const size_t n_weights = size_t{shape.n} * (shape.weights_by_part ? shape.n_parts : 1);
  const std::vector<float> gamma = test::normal(n_weights, 2), shift = test::normal(n_weights, 3);
  std::vector<float> y(size_t{kRows} * shape.n * shape.n_parts);

  NormPartsArgs args;
  args.label = "norm";
  args.shape = shape;
  args.x = gpu.output(x.size() * 4);
  gpu.write(args.x, std::as_bytes(std::span(x)));
  if (!in_place) args.y = gpu.output(y.size() * 4);
  args.gamma = gpu.upload(gamma);
  if (beta) args.beta = gpu.upload(shift);
  std::vector<KernelCall> calls;
  REQUIRE(norm_parts(gpu.info(), args, calls));
  gpu.run(calls, {.n_tokens = kRows});

  norm_parts_ref({.x = x.data(),
                  .y = in_place ? nullptr : y.data(),
                  .gamma = gamma.data(),
                  .beta = beta ? shift.data() : nullptr,
                  .shape = shape,
                  .n_rows = kRows});
  CHECK(test::nmse(gpu.read<float>(args.x), x) < 1e-10);
  if (!in_place) CHECK(test::nmse(gpu.read<float>(*args.y), y) < 1e-10);
}

TEST_CASE("norms of parts on the GPU are right for every kind, place and length") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    for (const NormKind kind : {NormKind::kRms, NormKind::kLayer, NormKind::kL2}) {
      for (const uint32_t n : {1u, 4u, 31u, 64u, 770u, 2048u}) {
        const bool by_part = n % 2 == 0;
        check(*gpu, {kind, n, 1, n, 0, false, 1e-5f}, /*in_place=*/n % 4 != 0, true);
        check(*gpu, {kind, n, 3, 3 * n, 0, by_part, 1e-5f}, /*in_place=*/false, false);
        check(*gpu, {kind, n, 2, 2 * n + 8, 4, by_part, 1e-5f}, /*in_place=*/true, by_part);
        check(*gpu, {kind, n, 2, 2 * n + 9, 5, by_part, 1e-5f}, /*in_place=*/true, true);
      }
    }
  }
}

TEST_CASE("norms of parts that reach beyond a row are refused") {
  std::vector<KernelCall> calls;
  NormPartsArgs args;
  args.label = "norm";
  args.shape = {NormKind::kRms, 64, 2, 130, 4};
  CHECK_FALSE(norm_parts({}, args, calls));
  args.shape.x_column = 2;
  CHECK(norm_parts({}, args, calls));
}

}  // namespace
}  // namespace puna::kernels
