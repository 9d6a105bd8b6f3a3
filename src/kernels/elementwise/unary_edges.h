// Arguments at the edges of f32 for the functions of unary.h, and what must come of them.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/elementwise/unary_ref.h"

namespace puna::kernels::test {

inline UnaryShape edge_shape(Unary function, size_t n) {
  UnaryShape shape{function, static_cast<uint32_t>(n)};
  if (function == Unary::kXielu) shape.with = {0.8f, 0.9f, 0.5f, -1e-6f};
  if (function == Unary::kClamp) shape.with = {-1.5f, 2.0f};
  return shape;
}

// Zeros, halves and their neighbours, where exp leaves f32, where integers are all that f32 has,
// the largest numbers.
inline std::vector<float> edges(Unary function) {
  std::vector<float> values = {0.0f, 0.5f, 1.5f, 2.5f, 0.49999997f, 8388609.0f, 1e-20f, 20.0f};
  if (function != Unary::kSin && function != Unary::kCos)
    values.insert(values.end(), {88.5f, 104.0f, 200.0f, 1e4f, 1e20f, 3e38f});
  const size_t n = values.size();
  for (size_t i = 0; i < n; ++i) values.push_back(-values[i]);
  if (function == Unary::kSin || function == Unary::kCos)
    std::erase_if(values, [](float v) { return std::fabs(v) > 30000; });
  if (function == Unary::kLog || function == Unary::kSqrt)
    std::erase_if(values, [](float v) { return v <= 0; });
  return values;
}

// Compares where the result is a number that f32 holds (NaN and infinity are `wide`'s to compare).
inline void check_edges(Unary function, const std::vector<float>& arguments,
                        const std::vector<float>& got, bool wide) {
  const UnaryShape shape = edge_shape(function, arguments.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const auto want = static_cast<float>(unary_ref(shape, double{arguments[i]}));
    INFO(std::string(name(function)) << " of " << arguments[i]);
    if (std::isfinite(want)) {
      CHECK(std::fabs(got[i] - want) <= 1e-5f * std::fabs(want) + 1e-30f);
    } else if (wide && std::isinf(want)) {
      CHECK(got[i] == want);
    }
  }
}

}  // namespace puna::kernels::test
