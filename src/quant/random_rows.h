// Random weight rows in file layout, for tests and benchmarks of everything that reads weights.
#pragma once

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "quant/quant.h"

namespace puna::quant {

// Random bytes, and floating-point fields as `value` draws them. [rows, cols], cols a multiple of
// the type's block.
template <class Value>
std::vector<std::byte> fill_rows(Type type, uint32_t rows, uint32_t cols, std::mt19937& random,
                                 const Value& value) {
  const TypeInfo& t = info(type);
  std::vector<std::byte> bytes(static_cast<size_t>(rows * row_bytes(type, cols)));
  for (size_t at = 0; at < bytes.size(); at += t.block_bytes) {
    for (uint32_t i = 0; i < t.block_bytes; ++i) bytes[at + i] = static_cast<std::byte>(random());
    if (t.set_scale) t.set_scale(value(), &bytes[at]);
    for (const uint16_t offset : t.halves) {
      const uint16_t x = base::f32_to_f16(value());
      std::memcpy(&bytes[at + offset], &x, 2);
    }
  }
  return bytes;
}

// Codes and small scales of all values, floating-point fields about `scale` in size and, with
// `extremes`, now and then zero, subnormal or large.
inline std::vector<std::byte> random_rows(Type type, uint32_t rows, uint32_t cols, uint32_t seed,
                                          float scale = 0.02f, bool extremes = false) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  return fill_rows(type, rows, cols, random, [&] {
    const float x = normal(random);
    if (!extremes) return x;
    switch (random() % 16) {
      case 0:
        return 0.0f;
      case 1:
        return x * 1e-5f;
      case 2:
        return x * 1e4f;
      default:
        return x;
    }
  });
}

// Weights of about this deviation, every block's scale of the same size. For types that have no
// encoder.
inline std::vector<std::byte> random_weights(Type type, uint32_t rows, uint32_t cols, uint32_t seed,
                                             float deviation) {
  const auto with_scale = [&](float scale) {
    std::mt19937 random(seed);
    return fill_rows(type, rows, cols, random, [&] { return random() % 2 == 0 ? scale : -scale; });
  };
  constexpr float kTrial = 0.01f;
  const std::vector<std::byte> trial = with_scale(kTrial);
  std::vector<float> values(size_t{rows} * cols);
  info(type).decode(trial.data(), values.data(), values.size());
  double power = 0;
  for (const float v : values) power += double{v} * v;
  const double found = std::sqrt(power / static_cast<double>(values.size()));
  return with_scale(kTrial * deviation / static_cast<float>(found));
}

}  // namespace puna::quant
