// delta.wgsl against delta_ref.h on an adapter.
#include "kernels/delta/delta_test_case.h"
#include "kernels/testing/state_gpu.h"

namespace puna::kernels {
namespace {

TEST_CASE("delta on the GPU is right for every shape, for single rows, batches and chunks") {
  test::check_state_role<test::DeltaCase, DeltaArgs>(
      "delta", test::delta_shapes(), delta, [](const auto& args) { delta_ref(args); },
      [](test::GpuHarness& gpu, const test::DeltaCase& c, DeltaArgs& args) {
        args.qkv = gpu.upload(c.qkv);
        args.in = gpu.upload(c.in);
        args.constants = gpu.upload(c.constants);
      });
}

}  // namespace
}  // namespace puna::kernels
