// group_norm.wgsl against group_norm_ref.h on an adapter.
#include <doctest/doctest.h>

#include "kernels/common/test_util.h"
#include "kernels/group_norm/group_norm_ref.h"
#include "kernels/testing/gpu_harness.h"

namespace puna::kernels {
namespace {

TEST_CASE("group_norm on the GPU is right with and without a gate, one gamma or many") {
  for (const test::Features features : {test::Features::kAll, test::Features::kBaseline}) {
    const auto gpu = test::GpuHarness::open(features);
    if (!gpu) return;
    for (const uint32_t size : {1u, 31u, 128u, 2560u}) {
      for (const int options : {0, 1, 2, 3}) {
        CAPTURE(size);
        CAPTURE(options);
        const uint32_t n_groups = 3, n = size * n_groups, n_rows = 4;
        const bool shared = (options & 1) != 0, gated = (options & 2) != 0;
        const GroupNormShape shape{n, n_groups, shared ? size : n, n + 3, 2, 1e-5f};
        const auto x = test::normal(size_t{n_rows} * n, 1, 3.0f);
        const auto gamma = test::normal(shape.n_gamma, 2);
        const auto gate = test::normal(size_t{n_rows} * shape.gate_stride, 3, 4.0f);
        GroupNormArgs args{"norm", gpu->upload(x), gpu->upload(gamma), gpu->output(x.size() * 4)};
        if (gated) args.gate = gpu->upload(gate);
        args.shape = shape;
        std::vector<KernelCall> calls;
        REQUIRE(group_norm(gpu->info(), args, calls));
        gpu->run(calls, {.n_tokens = n_rows});
        std::vector<float> y(x.size());
        group_norm_ref(
            {x.data(), gamma.data(), gated ? gate.data() : nullptr, y.data(), n_rows, shape});
        CHECK(test::nmse(gpu->read<float>(args.y), y) < 1e-10);
      }
    }
  }
}

}  // namespace
}  // namespace puna::kernels
