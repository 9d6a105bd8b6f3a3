#include <limits>

#include "kernels/elementwise/unary_edges.h"
#include "kernels/testing/operation_cpu_test.h"

namespace puna::kernels {
namespace {

TEST_CASE("every function of one element equals its plain form on the CPU") {
  test::check_operation_cpu("unary");
}

TEST_CASE(
    "functions of one element keep to their definition at zeros, halves, large numbers and "
    "infinities") {
  base::ThreadPool pool(1);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  test::for_every_variant([&] {
    for (int f = 0; f <= static_cast<int>(kLastUnary); ++f) {
      const auto function = static_cast<Unary>(f);
      std::vector<float> arguments = test::edges(function);
      if (function != Unary::kSin && function != Unary::kCos) {
        arguments.push_back(kInfinity);
        if (function != Unary::kLog && function != Unary::kSqrt) arguments.push_back(-kInfinity);
      }
      std::vector<float> y = arguments;
      unary_cpu(pool, {y.data(), 1, test::edge_shape(function, y.size())});
      test::check_edges(function, arguments, y, /*wide=*/true);
    }
  });
}

TEST_CASE("rounding keeps the sign of zero") {
  base::ThreadPool pool(1);
  test::for_every_variant([&] {
    for (const Unary function : {Unary::kCeil, Unary::kRound, Unary::kTrunc}) {
      std::vector<float> y = {-0.3f, -0.0f, 0.3f, 0.0f};
      if (function == Unary::kCeil) y[2] = 0.0f;
      unary_cpu(pool, {y.data(), 1, {function, 4}});
      for (int i = 0; i < 4; ++i) {
        CHECK(y[i] == 0.0f);
        CHECK(std::signbit(y[i]) == (i < 2));
      }
    }
    std::vector<float> y = {0.0f, -0.0f};
    unary_cpu(pool, {y.data(), 1, {Unary::kNegate, 2}});
    CHECK(std::signbit(y[0]));
    CHECK(!std::signbit(y[1]));
  });
}

TEST_CASE("the logarithm of what is not positive is what C gives") {
  base::ThreadPool pool(1);
  test::for_every_variant([&] {
    std::vector<float> y = {0.0f, -0.0f, -1.0f};
    unary_cpu(pool, {y.data(), 1, {Unary::kLog, 3}});
    CHECK(y[0] == -std::numeric_limits<float>::infinity());
    CHECK(y[1] == -std::numeric_limits<float>::infinity());
    CHECK(std::isnan(y[2]));
  });
}

TEST_CASE("a function with a parameter that is not finite is refused") {
  std::vector<KernelCall> calls;
  const auto refused = unary({}, {"top", {}, {Unary::kClamp, 4, {0, INFINITY}}}, calls);
  REQUIRE(!refused);
  CHECK(refused.error().text() ==
        "Function bounded of top has a parameter of inf; it must be finite.");
}

}  // namespace
}  // namespace puna::kernels
