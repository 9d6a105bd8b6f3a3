#include <doctest/doctest.h>

#include "kernels/common/cpu_test_util.h"
#include "kernels/common/test_util.h"
#include "kernels/group_norm/group_norm_ref.h"

namespace puna::kernels {
namespace {

TEST_CASE("group_norm_cpu equals its reference with and without a gate, one gamma or many") {
  base::ThreadPool pool(2);
  test::for_every_variant([&] {
    for (const uint32_t size : {1u, 31u, 128u}) {
      for (const uint32_t n_groups : {1u, 3u}) {
        for (const bool shared : {false, true}) {
          for (const bool gated : {false, true}) {
            const uint32_t n = size * n_groups, n_rows = 7;
            const GroupNormShape shape{n, n_groups, shared ? size : n, n + 3, 2, 1e-5f};
            const auto x = test::normal(size_t{n_rows} * n, 1, 3.0f);
            const auto gamma = test::normal(shape.n_gamma, 2);
            const auto gate = test::normal(size_t{n_rows} * shape.gate_stride, 3, 4.0f);
            std::vector<float> y(x.size(), NAN), expected(x.size());
            GroupNormCpuArgs args{x.data(), gamma.data(), gated ? gate.data() : nullptr,
                                  y.data(), n_rows,       shape};
            group_norm_cpu(pool, args);
            args.y = expected.data();
            group_norm_ref(args);
            CHECK(test::nmse(y, expected) < 1e-12);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace puna::kernels
