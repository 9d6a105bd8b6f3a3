// What the calls of a plan hand to each other, by the device's features.
#include <string>

#include "doctest/doctest.h"
#include "kernels/testing/devices.h"
#include "models/models.h"
#include "models/testing/tiny_model.h"
#include "plan/fuse.h"
#include "plan/gpu_plan.h"

namespace puna::engine {
namespace {

using kernels::test::with_matrix_units;

plan::GpuPlan plan_of(const gpu::DeviceInfo& device, kernels::Numerics numerics) {
  const auto file = fixtures::tiny_model(fixtures::wide_shape());
  const auto config = models::read_config(file);
  REQUIRE(config);
  const auto graph = models::build(file, *config);
  REQUIRE(graph);
  plan::CacheConfig cache;
  cache.n_pages = cache.pages_per_sequence = 1;
  plan::GpuPlanOptions options;
  options.numerics = numerics;
  auto plan = plan::plan_gpu(plan::fuse(*graph), cache, device, options);
  REQUIRE_MESSAGE(plan.has_value(), plan.error().text());
  return *std::move(plan);
}

struct Count {
  size_t norms = 0, norms_as_f16 = 0, halves = 0;
};
Count count(const std::vector<kernels::KernelCall>& calls) {
  Count out;
  for (const kernels::KernelCall& call : calls) {
    out.norms += call.kernel == "norm/norm.wgsl";
    out.norms_as_f16 += call.kernel == "norm/norm.wgsl" && call.defines.contains("X16_ROWS");
    out.halves += call.kernel == "matmul/x_as_f16.wgsl";
  }
  return out;
}

TEST_CASE("norms before products in tiles of matrix units leave what these read") {
  const plan::GpuPlan plan = plan_of(with_matrix_units(), kernels::Numerics::kFast);
  const Count prompts = count(plan.body.back().calls);
  CHECK(prompts.norms > 0);
  CHECK(prompts.norms_as_f16 == prompts.norms);
  // What attention and the gated product leave is still made f16 by a call of its own.
  CHECK(prompts.halves > 0);
  CHECK(prompts.halves <= prompts.norms);
  CHECK(count(plan.body.front().calls).norms_as_f16 == 0);
}

TEST_CASE("without matrix units, or with exact numerics, norms leave f32") {
  const Count plain = count(plan_of({}, kernels::Numerics::kFast).body.back().calls);
  CHECK(plain.norms > 0);
  CHECK(plain.norms_as_f16 == 0);
  const Count exact =
      count(plan_of(with_matrix_units(), kernels::Numerics::kExact).body.back().calls);
  CHECK(exact.norms > 0);
  CHECK(exact.norms_as_f16 + exact.halves == 0);
}

}  // namespace
}  // namespace puna::engine
