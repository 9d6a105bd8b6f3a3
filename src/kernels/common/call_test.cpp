#include "kernels/common/call.h"

#include <doctest/doctest.h>

using namespace puna;
using namespace puna::kernels;

TEST_CASE("grid dimensions round up and follow their extent") {
  const StepShape shape{.n_tokens = 7, .n_outputs = 3, .n_splits = 5};
  CHECK(workgroups({}, shape) == 1);
  CHECK(workgroups({Extent::kOne, 100, 32}, shape) == 4);
  CHECK(workgroups({Extent::kTokens, 1, 4}, shape) == 2);
  CHECK(workgroups({Extent::kOutputs, 2, 1}, shape) == 6);
  CHECK(workgroups({Extent::kSplits, 1, 5}, shape) == 1);
  CHECK(workgroups({Extent::kIfSplit}, shape) == 1);
  CHECK(workgroups({Extent::kIfWhole}, shape) == 0);
  const StepShape whole{.n_splits = 1};
  CHECK(workgroups({Extent::kSplits}, whole) == 0);
  CHECK(workgroups({Extent::kIfSplit}, whole) == 0);
  CHECK(workgroups({Extent::kIfWhole}, whole) == 1);
  CHECK(workgroups({Extent::kTokens, 1, 1}, {.n_tokens = 0}) == 0);
  CHECK(workgroups({Extent::kTokens, 4'000'000'000u, 4'000'000'000u}, shape) == 7);
}

TEST_CASE("a template is found by its path below src/kernels or src") {
  CHECK(wgsl_source("common/step.wgsl").size() > 100);
  CHECK(wgsl_source("kernels/common/step.wgsl") == wgsl_source("common/step.wgsl"));
  CHECK(wgsl_source("common/none.wgsl").empty());
}

TEST_CASE("expansion starts with the device's header and knows its features") {
  KernelCall call;
  call.label = "blk.0.x";
  call.kernel = "common/step.wgsl";
  gpu::DeviceInfo device;
  CHECK(expand(call, device)->starts_with("// The step buffer"));
  device.f16 = device.subgroups = true;
  CHECK(expand(call, device)->starts_with("enable f16;\n// "));
  device.dialect = gpu::Dialect::kTint;
  CHECK(expand(call, device)
            ->starts_with(
                "enable f16;\nenable subgroups;\ndiagnostic(off, subgroup_uniformity);\n// "));
}

TEST_CASE("an unknown template is an internal error that names the call") {
  KernelCall call;
  call.label = "blk.0.x";
  call.kernel = "none/none.wgsl";
  const auto text = expand(call, {});
  REQUIRE_FALSE(text);
  CHECK(text.error().code == base::ErrorCode::kInternal);
  CHECK(
      text.error().message ==
      "Kernel template \"none/none.wgsl\" of blk.0.x is not compiled into this program; list it in "
      "src/kernels/CMakeLists.txt.");
}
