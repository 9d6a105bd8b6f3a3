// shift.wgsl against shift_ref.h on an adapter.
#include <doctest/doctest.h>

#include "kernels/shift/shift_test_case.h"
#include "kernels/testing/gpu_harness.h"

namespace puna::kernels {
namespace {

TEST_CASE("shift on the GPU is right for every shape, for single rows, batches and chunks") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    for (const ShiftShape& shape : test::shift_shapes()) {
      for (const test::TestStep& step : test::state_steps()) {
        CAPTURE(shape.n);
        const test::ShiftCase c(shape, step);
        ShiftArgs args;
        args.label = "shift";
        args.step = gpu->upload(step.words());
        args.x = gpu->upload(c.x);
        args.mix = gpu->upload(c.mix);
        if (!c.by.empty()) args.by = gpu->upload(c.by);
        args.state = gpu->upload(c.state);
        args.y = gpu->output(c.n_y() * 4);
        args.shape = shape;
        args.max_rows = 512;
        std::vector<KernelCall> calls;
        REQUIRE(shift(gpu->info(), args, calls));
        gpu->run(calls, {.n_tokens = step.n_tokens()});

        auto state = c.state;
        std::vector<float> y(c.n_y());
        shift_ref(c.args(state, y));
        CHECK(test::nmse(gpu->read<float>(args.y), y) < 1e-12);
        CHECK(gpu->read<float>(args.state) == state);
      }
    }
  }
}

}  // namespace
}  // namespace puna::kernels
