#include <doctest/doctest.h>

#include <cmath>

#include "kernels/common/cpu_test_util.h"
#include "kernels/common/test_util.h"
#include "kernels/norm/norm_parts_ref.h"

namespace puna::kernels {
namespace {

struct Case {
  NormPartsShape shape;
  bool in_place, gamma, beta;
};

void check(base::ThreadPool& pool, const Case& c) {
  constexpr uint32_t kRows = 5;
  const NormPartsShape& s = c.shape;
  CAPTURE(s.n);
  CAPTURE(s.n_parts);
  std::vector<float> x = test::normal(size_t{kRows} * s.x_stride, 1, 3.0f), x_ref = x;
  for (float& v : x) v += 2.0f;  // a mean that layer norms must take away
  x_ref = x;
  const size_t n_weights = size_t{s.n} * (s.weights_by_part ? s.n_parts : 1);
  const std::vector<float> gamma = test::normal(n_weights, 2), beta = test::normal(n_weights, 3);
  std::vector<float> y(size_t{kRows} * s.n * s.n_parts, NAN), y_ref(y.size());
  NormPartsCpuArgs args{.x = x.data(),
                        .y = c.in_place ? nullptr : y.data(),
                        .gamma = c.gamma ? gamma.data() : nullptr,
                        .beta = c.beta ? beta.data() : nullptr,
                        .shape = s,
                        .n_rows = kRows};
  norm_parts_cpu(pool, args);
  args.x = x_ref.data();
  args.y = c.in_place ? nullptr : y_ref.data();
  norm_parts_ref(args);
  CHECK(test::nmse(x, x_ref) < 1e-12);
  if (!c.in_place) CHECK(test::nmse(y, y_ref) < 1e-12);
}

TEST_CASE("norm_parts_cpu equals its reference for every kind, place and set of weights") {
  base::ThreadPool pool(2);
  test::for_every_variant([&] {
    for (const NormKind kind : {NormKind::kRms, NormKind::kLayer, NormKind::kL2}) {
      for (const uint32_t n : {1u, 4u, 31u, 64u, 577u}) {
        for (const uint32_t n_parts : {1u, 3u}) {
          for (const bool weights : {false, true}) {
            const NormPartsShape whole{kind, n, n_parts, n * n_parts, 0, weights, 1e-5f};
            check(pool, {whole, /*in_place=*/true, weights, weights});
            check(pool, {whole, /*in_place=*/false, true, weights});
            const NormPartsShape within{kind, n, n_parts, n * n_parts + 9, 5, weights, 1e-5f};
            check(pool, {within, /*in_place=*/true, true, weights});
          }
        }
      }
    }
  });
}

TEST_CASE("a layer norm of equal values is its bias") {
  base::ThreadPool pool(1);
  std::vector<float> x(64, 3.0f);
  const std::vector<float> beta = test::normal(64, 1);
  norm_parts_cpu(
      pool,
      {.x = x.data(), .beta = beta.data(), .shape = {NormKind::kLayer, 64, 1, 64}, .n_rows = 1});
  CHECK(x == beta);
}

TEST_CASE("an L2 norm has a length of 1, and eps bounds what it divides by") {
  base::ThreadPool pool(1);
  std::vector<float> x = {3, 4, 3e-8f, 4e-8f, 0, 0};
  norm_parts_cpu(pool,
                 {.x = x.data(), .shape = {NormKind::kL2, 2, 3, 6, 0, false, 1e-6f}, .n_rows = 1});
  const std::vector<float> expected = {0.6f, 0.8f, 3e-2f, 4e-2f, 0, 0};
  for (size_t i = 0; i < x.size(); ++i) CHECK(x[i] == doctest::Approx(expected[i]));
}

}  // namespace
}  // namespace puna::kernels
