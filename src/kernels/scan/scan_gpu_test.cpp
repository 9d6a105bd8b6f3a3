// scan.wgsl against scan_ref.h on an adapter.
#include "kernels/scan/scan_test_case.h"
#include "kernels/testing/state_gpu.h"

namespace puna::kernels {
namespace {

TEST_CASE("scan on the GPU is right for every shape, for single rows, batches and chunks") {
  test::check_state_role<test::ScanCase, ScanArgs>(
      "scan", test::scan_shapes(), scan, [](const auto& args) { scan_ref(args); },
      [](test::GpuHarness& gpu, const test::ScanCase& c, ScanArgs& args) {
        args.x = gpu.upload(c.x);
        args.dt = gpu.upload(c.dt);
        args.bc = gpu.upload(c.bc);
        args.in = gpu.upload(c.in);
        args.constants = gpu.upload(c.constants);
      });
}

}  // namespace
}  // namespace puna::kernels
