#include "plan/pipelines.h"

#include <doctest/doctest.h>

#include <vector>

#include "gpu/null/null.h"
#include "kernels/norm/norm.h"

namespace puna::plan {
namespace {

kernels::KernelCall norm(const std::string& label, uint32_t n) {
  kernels::NormArgs args;
  args.label = label;
  args.n = n;
  args.x = {1, 0, 4096};
  args.gamma = kernels::Slice{2, 0, 4096};
  args.y = kernels::Slice{3, 0, 4096};
  std::vector<kernels::KernelCall> calls;
  REQUIRE(kernels::rms_norm({}, args, calls));
  REQUIRE(calls.size() == 1);
  return calls[0];
}

TEST_CASE("calls of one variant share a pipeline, others have their own") {
  for (const bool late : {false, true}) {
    CAPTURE(late);
    const auto device = gpu::null::create({.info = {}, .late_pipelines = late});
    Pipelines pipelines(*device);
    CHECK(pipelines.add(norm("blk.0", 512)) == 0);
    CHECK(pipelines.add(norm("blk.0", 576)) == 1);
    CHECK(pipelines.add(norm("blk.1", 512)) == 0);
    const auto ids = base::run_until(pipelines.all(), [&] { device->poll(); });
    REQUIRE(ids);
    REQUIRE(ids->size() == 2);
    CHECK(device->pipeline((*ids)[0]).wgsl != device->pipeline((*ids)[1]).wgsl);
  }
}

TEST_CASE("none are waited for where none were added") {
  const auto device = gpu::null::create();
  const auto ids = base::run_until(Pipelines(*device).all(), [&] { device->poll(); });
  REQUIRE(ids);
  CHECK(ids->empty());
}

TEST_CASE("the first error is told once all are over") {
  for (const bool late : {false, true}) {
    CAPTURE(late);
    const auto device = gpu::null::create({.info = {}, .fail_at = 1, .late_pipelines = late});
    Pipelines pipelines(*device);
    for (const uint32_t n : {512u, 576u, 640u}) REQUIRE(pipelines.add(norm("a", n)));
    const auto ids = base::run_until(pipelines.all(), [&] { device->poll(); });
    REQUIRE(!ids);
    CHECK(ids.error().code == base::ErrorCode::kOutOfMemory);
  }
}

TEST_CASE("a compiler that is still at work when nobody waits any more harms nothing") {
  const auto device = gpu::null::create({.info = {}, .late_pipelines = true});
  {
    Pipelines pipelines(*device);
    REQUIRE(pipelines.add(norm("a", 512)));
  }
  device->poll();
}

}  // namespace
}  // namespace puna::plan
