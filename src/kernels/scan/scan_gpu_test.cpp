// scan.wgsl against scan_ref.h on an adapter.
#include <doctest/doctest.h>

#include "kernels/scan/scan_test_case.h"
#include "kernels/testing/gpu_harness.h"

namespace puna::kernels {
namespace {

TEST_CASE("scan on the GPU is right for every shape, for single rows, batches and chunks") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    for (const ScanShape& shape : test::scan_shapes()) {
      for (const test::TestStep& step : test::state_steps()) {
        for (const uint32_t max_rows : {1u, 4u, 512u}) {
          if (step.n_tokens() > max_rows) continue;
          CAPTURE(shape.n_channels);
          CAPTURE(shape.n_state);
          CAPTURE(max_rows);
          const test::ScanCase c(shape, step);
          ScanArgs args;
          args.label = "scan";
          args.step = gpu->upload(step.words());
          args.x = gpu->upload(c.x);
          args.dt = gpu->upload(c.dt);
          args.bc = gpu->upload(c.bc);
          args.in = gpu->upload(c.in);
          args.constants = gpu->upload(c.constants);
          args.state = gpu->upload(c.state);
          args.y = gpu->output(c.n_y() * 4);
          args.shape = shape;
          args.max_rows = max_rows;
          std::vector<KernelCall> calls;
          REQUIRE(scan(gpu->info(), args, calls));
          gpu->run(calls, {.n_tokens = step.n_tokens()});

          auto state = c.state;
          std::vector<float> y(c.n_y());
          scan_ref(c.args(state, y));
          CHECK(test::nmse(gpu->read<float>(args.y), y) < 1e-10);
          CHECK(test::nmse(gpu->read<float>(args.state), state) < 1e-10);
        }
      }
    }
  }
}

}  // namespace
}  // namespace puna::kernels
