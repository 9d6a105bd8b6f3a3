// The search against the obvious choice of scales: how much error it saves, and that it never adds
// any.
#include "quant/search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "quant/block.h"

using namespace puna::quant;

namespace {

double error_of(const float* x, int n, float scale, float min, int lo, int hi) {
  double error = 0;
  for (int i = 0; i < n; ++i) {
    const int q = round_clamp((x[i] - min) * safe_inverse(scale), lo, hi);
    error += std::pow(double{x[i]} - (double{scale} * q + min), 2);
  }
  return error;
}

struct Errors {
  double simple = 0, searched = 0;
  int worse = 0;  // groups where the search is beaten
};

template <class Simple, class Searched>
Errors compare(int n, Simple simple, Searched searched) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  Errors errors;
  for (int group = 0; group < 500; ++group) {
    for (float& v : x) v = normal(random);
    if (group % 5 == 0) x[3] *= 6;  // an outlier
    const double a = simple(x.data());
    const double b = searched(x.data());
    errors.simple += a;
    errors.searched += b;
    errors.worse += b > a * 1.0001;
  }
  return errors;
}

}  // namespace

TEST_CASE("the symmetric search lowers the squared error of max-abs scaling by 7 %") {
  const auto simple = [](const float* x) {
    const float largest =
        *std::max_element(x, x + 32, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    return error_of(x, 32, largest / -8, 0, -8, 7);
  };
  const auto searched = [](const float* x) {
    return error_of(x, 32, search_scale(x, 32, -8, 7), 0, -8, 7);
  };
  const Errors errors = compare(32, simple, searched);
  CHECK(errors.searched < 0.93 * errors.simple);
  CHECK(errors.worse == 0);
}

TEST_CASE("the affine search saves a fifth of the squared error of min-max scaling") {
  const auto simple = [](const float* x) {
    const auto [low, high] = std::minmax_element(x, x + 32);
    return error_of(x, 32, (*high - *low) / 15, *low, 0, 15);
  };
  const auto searched = [](const float* x) {
    const Affine fit = search_affine(x, 32, 15, /*min_at_most_zero=*/false);
    return error_of(x, 32, fit.scale, fit.min, 0, 15);
  };
  const Errors errors = compare(32, simple, searched);
  CHECK(errors.searched < 0.8 * errors.simple);
  CHECK(errors.worse == 0);
}

TEST_CASE("the affine search keeps the minimum at or below zero where the type needs it") {
  std::vector<float> x(32);
  for (int i = 0; i < 32; ++i) x[i] = 4.0f + 0.1f * static_cast<float>(i);
  const Affine fit = search_affine(x.data(), 32, 15, /*min_at_most_zero=*/true);
  CHECK(fit.min <= 0);
  CHECK(error_of(x.data(), 32, fit.scale, fit.min, 0, 15) < 32 * 0.15);
}

TEST_CASE("super-blocks stay near what their groups would have with scales of their own") {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  double free_error = 0;
  double super_error = 0;
  for (int round = 0; round < 50; ++round) {
    float x[256];
    for (float& v : x) v = normal(random);
    const SuperAffine super = search_super_affine(x, 32, 15, 63);
    for (int j = 0; j < 8; ++j) {
      const Affine fit = search_affine(x + 32 * j, 32, 15, /*min_at_most_zero=*/true);
      free_error += error_of(x + 32 * j, 32, fit.scale, fit.min, 0, 15);
    }
    const float d = puna::base::f16_to_f32(super.d);
    const float dmin = puna::base::f16_to_f32(super.dmin);
    for (int i = 0; i < 256; ++i) {
      super_error +=
          std::pow(x[i] - (d * super.scale[i / 32] * super.q[i] - dmin * super.min[i / 32]), 2);
    }
  }
  CHECK(super_error < 1.05 * free_error);
}
