#include <doctest/doctest.h>

#include "kernels/ceiling/ceiling.h"
#include "kernels/testing/gpu_harness.h"

using namespace puna;
using namespace puna::kernels;

TEST_CASE("the ceilings of a device are measured: every figure is a positive number") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  const auto ceilings = measure_ceilings(gpu->device());
  REQUIRE_MESSAGE(ceilings, ceilings.error().text());
  CHECK(ceilings->read_gb_per_s > 0);
  CHECK(ceilings->f32_tflops > 0);
  CHECK(ceilings->int8_tops > 0);
  CHECK((ceilings->f16_tflops > 0) == gpu->info().f16);
}

TEST_CASE("a read takes all of its data, beyond one dimension of the grid too") {
  for (const uint64_t n : {uint64_t{1}, uint64_t{100}, uint64_t{32769}, uint64_t{65536}}) {
    const KernelCall call = read_call({0, 0, n * kReadBytes}, {1, 0, 4});
    CHECK(uint64_t{workgroups(call.x, {})} * workgroups(call.y, {}) >= n);
    CHECK((uint64_t{workgroups(call.x, {})} - 1) * workgroups(call.y, {}) < n);
    CHECK(workgroups(call.x, {}) <= 65535);
  }
}
