// What kernel tests share: seeded inputs and the distance from a reference.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "quant/quant.h"

namespace puna::kernels::test {

// n values of a normal distribution, the same for a seed on every platform up to the last bits.
inline std::vector<float> normal(size_t n, uint32_t seed, float scale = 1.0f) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> draw(0.0f, scale);
  std::vector<float> values(n);
  for (float& value : values) value = draw(engine);
  return values;
}

// Normalised mean squared error: sum (a - b)^2 / sum b^2; infinite when a holds a value that is not
// finite, or differs from an all-zero b.
inline double nmse(std::span<const float> a, std::span<const float> b) {
  double error = 0;
  double power = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    if (!std::isfinite(a[i])) return INFINITY;
    error += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    power += double{b[i]} * b[i];
  }
  if (error == 0) return 0;
  return power == 0 ? INFINITY : error / power;
}

// Rows in file layout as f32.
inline std::vector<float> decode_rows(quant::Type type, std::span<const std::byte> rows) {
  const quant::TypeInfo& info = quant::info(type);
  std::vector<float> values(rows.size() / info.block_bytes * info.block_elements);
  info.decode(rows.data(), values.data(), values.size());
  return values;
}

}  // namespace puna::kernels::test
