// gather.wgsl against gather_ref.h on an adapter.
#include <doctest/doctest.h>

#include <vector>

#include "kernels/common/step.h"
#include "kernels/common/test_util.h"
#include "kernels/gather/gather.h"
#include "kernels/gather/gather_ref.h"
#include "kernels/testing/gpu_harness.h"

namespace puna::kernels {
namespace {

TEST_CASE("gather_rows on the GPU copies the wanted rows and nothing else") {
  const auto gpu = test::GpuHarness::open();
  if (!gpu) return;
  const std::vector<uint32_t> wanted = {9, 0, 4, 4};
  std::vector<uint32_t> step(kStepWords);
  step[kStepTokenCount] = 10;
  step[kStepOutputCount] = 4;
  std::copy(wanted.begin(), wanted.end(), step.begin() + kStepOutputRows);
  for (const uint32_t n : {1u, 5u, 64u, 577u, 2048u}) {
    CAPTURE(n);
    const std::vector<float> x = test::normal(size_t{10} * n, n);
    std::vector<float> want(size_t{4} * n);
    gather_rows_ref(x.data(), n, wanted.data(), 4, want.data());
    const Slice y = gpu->output(want.size() * 4);
    std::vector<KernelCall> calls;
    REQUIRE(gather_rows(
        gpu->info(),
        {.label = "gather", .step = gpu->upload(step), .x = gpu->upload(x), .y = y, .n = n},
        calls));
    gpu->run(calls, {.n_tokens = 10, .n_outputs = 4});
    CHECK(gpu->read<float>(y) == want);
  }
}

}  // namespace
}  // namespace puna::kernels
