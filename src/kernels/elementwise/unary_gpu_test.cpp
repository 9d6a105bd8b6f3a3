#include "kernels/elementwise/unary_edges.h"
#include "kernels/selftest/check_gpu.h"
#include "kernels/testing/operation_gpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("every function of one element equals its plain form on the GPU") {
  test::check_operation_gpu("unary");
}

TEST_CASE("functions of one element stay right on the GPU at zeros, halves and large numbers") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  for (int f = 0; f <= static_cast<int>(kLastUnary); ++f) {
    const auto function = static_cast<Unary>(f);
    const std::vector<float> arguments = test::edges(function);
    std::vector<float> y = arguments;
    Workbench bench(gpu->device());
    UnaryArgs args{"unary", {}, test::edge_shape(function, y.size())};
    args.y = bench.upload(std::span<const float>(y)).value();
    REQUIRE(run_and_read(bench, 1, unary, args, y.data(), y.size()));
    test::check_edges(function, arguments, y, /*wide=*/false);
  }
}

}  // namespace
}  // namespace puna::kernels
