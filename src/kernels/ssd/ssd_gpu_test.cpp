// ssd.wgsl against ssd_ref.h on an adapter.
#include "kernels/ssd/ssd_test_case.h"
#include "kernels/testing/state_gpu.h"

namespace puna::kernels {
namespace {

TEST_CASE("ssd on the GPU is right for every shape, for single rows, batches and chunks") {
  test::check_state_role<test::SsdCase, SsdArgs>(
      "ssd", test::ssd_shapes(), ssd, [](const auto& args) { ssd_ref(args); },
      [](test::GpuHarness& gpu, const test::SsdCase& c, SsdArgs& args) {
        args.xbc = gpu.upload(c.xbc);
        args.in = gpu.upload(c.in);
        args.constants = gpu.upload(c.constants);
      });
}

}  // namespace
}  // namespace puna::kernels
