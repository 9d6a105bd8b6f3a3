// wkv.wgsl against wkv_ref.h on an adapter.
#include <doctest/doctest.h>

#include "kernels/testing/gpu_harness.h"
#include "kernels/wkv/wkv_test_case.h"

namespace puna::kernels {
namespace {

TEST_CASE("wkv on the GPU is right for every shape, for single rows, batches and chunks") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    for (const WkvShape& shape : test::wkv_shapes()) {
      for (const test::TestStep& step : test::state_steps()) {
        for (const uint32_t max_rows : {1u, 4u, 512u}) {
          if (step.n_tokens() > max_rows) continue;
          CAPTURE(shape.head_dim);
          CAPTURE(shape.n_constants());
          CAPTURE(max_rows);
          const test::WkvCase c(shape, step);
          WkvArgs args;
          args.label = "wkv";
          args.step = gpu->upload(step.words());
          args.in = gpu->upload(c.in);
          args.values = gpu->upload(c.values);
          args.constants = gpu->upload(c.constants);
          args.state = gpu->upload(c.state);
          args.y = gpu->output(c.n_y() * 4);
          if (c.has_extra()) args.extra = gpu->output(c.n_y() * 4);
          args.shape = shape;
          args.max_rows = max_rows;
          std::vector<KernelCall> calls;
          REQUIRE(wkv(gpu->info(), args, calls));
          gpu->run(calls, {.n_tokens = step.n_tokens()});

          auto state = c.state;
          std::vector<float> y(c.n_y()), extra(c.n_y());
          wkv_ref(c.args(state, y, extra));
          CHECK(test::nmse(gpu->read<float>(args.y), y) < 1e-10);
          CHECK(test::nmse(gpu->read<float>(args.state), state) < 1e-10);
          if (args.extra) CHECK(test::nmse(gpu->read<float>(*args.extra), extra) < 1e-10);
        }
      }
    }
  }
}

}  // namespace
}  // namespace puna::kernels
