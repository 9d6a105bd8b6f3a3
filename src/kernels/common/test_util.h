// What kernel tests share: seeded inputs and the distance from a reference.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "base/half.h"
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

// rows x cols of random codes in file layout, scales of about `scale`; every fourth block has
// subnormal ones. Floats are normal.
inline std::vector<std::byte> random_rows(quant::Type type, uint32_t rows, uint32_t cols,
                                          uint32_t seed, float scale = 0.01f) {
  using quant::Type;
  std::mt19937 engine(seed);
  std::vector<std::byte> bytes(rows * quant::row_bytes(type, cols));
  if (type <= Type::kBf16) {
    const std::vector<float> values = normal(size_t{rows} * cols, seed);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t half =
          type == Type::kF16 ? base::f32_to_f16(values[i]) : base::f32_to_bf16(values[i]);
      if (type == Type::kF32) std::memcpy(&bytes[4 * i], &values[i], 4);
      if (type != Type::kF32) std::memcpy(&bytes[2 * i], &half, 2);
    }
    return bytes;
  }
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(engine() & 0xffu);
  // Where the f16 scale of a block lies, and whether a min follows it.
  size_t at = 0;
  if (type == Type::kQ2_K) at = 80;
  if (type == Type::kQ3_K) at = 108;
  if (type == Type::kQ6_K) at = 208;
  const bool has_min = type == Type::kQ4_1 || type == Type::kQ5_1 || type == Type::kQ2_K ||
                       type == Type::kQ4_K || type == Type::kQ5_K;
  std::uniform_real_distribution<float> draw(-scale, scale);
  for (size_t block = 0; block < bytes.size(); block += quant::info(type).block_bytes) {
    const float shrink = engine() % 4 == 0 ? 1e-6f / scale : 1.0f;
    for (size_t i = 0; i < (has_min ? 2 : 1); ++i) {
      const uint16_t half = base::f32_to_f16(draw(engine) * shrink);
      std::memcpy(&bytes[block + at + 2 * i], &half, 2);
    }
  }
  return bytes;
}

// The same rows as f32.
inline std::vector<float> decode_rows(quant::Type type, std::span<const std::byte> rows) {
  const quant::TypeInfo& info = quant::info(type);
  std::vector<float> values(rows.size() / info.block_bytes * info.block_elements);
  info.decode(rows.data(), values.data(), values.size());
  return values;
}

}  // namespace puna::kernels::test
