#include <doctest/doctest.h>

#include "kernels/common/cpu_test_util.h"
#include "kernels/common/test_util.h"
#include "kernels/norm/norm_ref.h"

namespace puna::kernels {
namespace {

TEST_CASE("rms_norm_cpu equals its reference for every set of operands, length and variant") {
  base::ThreadPool pool(2);
  const float scale = 0.75f;
  test::for_every_variant([&] {
    for (const uint32_t n : {1u, 4u, 31u, 64u, 577u, 2048u}) {
      for (const uint32_t n_rows : {1u, 3u, 40u}) {
        for (const bool post : {false, true}) {
          for (const bool add : {false, true}) {
            CAPTURE(n);
            CAPTURE(n_rows);
            const std::vector<float> x = test::normal(size_t{n_rows} * n, 1, 3.0f);
            const std::vector<float> gamma = test::normal(n, 2);
            const std::vector<float> post_gamma = test::normal(n, 3);
            const std::vector<float> start = test::normal(x.size(), 4);
            std::vector<float> residual = start, residual_ref = start, y(x.size(), NAN),
                               y_ref(x.size());
            NormCpuArgs args{.x = x.data(),
                             .post_gamma = post ? post_gamma.data() : nullptr,
                             .residual = add ? residual.data() : nullptr,
                             .scale = add && n % 2 == 1 ? &scale : nullptr,
                             .gamma = gamma.data(),
                             .y = y.data(),
                             .n_rows = n_rows,
                             .n = n,
                             .eps = 1e-5f};
            rms_norm_cpu(pool, args);
            args.residual = add ? residual_ref.data() : nullptr;
            args.y = y_ref.data();
            rms_norm_ref(args);
            CHECK(test::nmse(y, y_ref) < 1e-12);
            CHECK(test::nmse(residual, residual_ref) < 1e-12);
          }
        }
      }
    }
  });
}

TEST_CASE("rms_norm_cpu without y only moves the residual on, and zeros stay zeros") {
  base::ThreadPool pool(1);
  const std::vector<float> x(64, 0.0f);
  const std::vector<float> gamma(64, 2.0f);
  std::vector<float> residual(64, 1.5f);
  rms_norm_cpu(pool, {.x = x.data(),
                      .post_gamma = gamma.data(),
                      .residual = residual.data(),
                      .n_rows = 1,
                      .n = 64});
  CHECK(residual == std::vector<float>(64, 1.5f));
}

}  // namespace
}  // namespace puna::kernels
