// Random weight rows in file layout, for tests and benchmarks of everything that reads weights.
#pragma once

#include <cstring>
#include <initializer_list>
#include <random>
#include <vector>

#include "base/half.h"
#include "quant/quant.h"

namespace puna::quant {

// Byte offsets of the f16 fields of a block.
inline std::initializer_list<uint32_t> f16_fields(Type type) {
  static constexpr std::initializer_list<uint32_t> kNone = {}, kFirst = {0}, kFirstTwo = {0, 2},
                                                   kQ2 = {80, 82}, kQ3 = {108}, kQ6 = {208};
  switch (type) {
    case Type::kF16:
    case Type::kQ4_0:
    case Type::kQ5_0:
    case Type::kQ8_0:
      return kFirst;
    case Type::kQ4_1:
    case Type::kQ5_1:
    case Type::kQ4_K:
    case Type::kQ5_K:
      return kFirstTwo;
    case Type::kQ2_K:
      return kQ2;
    case Type::kQ3_K:
      return kQ3;
    case Type::kQ6_K:
      return kQ6;
    case Type::kF32:
    case Type::kBf16:
      return kNone;
  }
  return kNone;
}

// Codes and small scales of all values, floating-point fields about `scale` in size and, with
// `extremes`, now and then zero, subnormal or large. [rows, cols], cols a multiple of the type's
// block.
inline std::vector<std::byte> random_rows(Type type, uint32_t rows, uint32_t cols, uint32_t seed,
                                          float scale = 0.02f, bool extremes = false) {
  const TypeInfo& t = info(type);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<std::byte> bytes(rows * row_bytes(type, cols));
  const auto value = [&] {
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
  };
  for (size_t at = 0; at < bytes.size(); at += t.block_bytes) {
    for (uint32_t i = 0; i < t.block_bytes; ++i) bytes[at + i] = static_cast<std::byte>(random());
    if (type == Type::kF32) {
      const float x = value();
      std::memcpy(&bytes[at], &x, 4);
    } else if (type == Type::kBf16) {
      const uint16_t x = base::f32_to_bf16(value());
      std::memcpy(&bytes[at], &x, 2);
    }
    for (uint32_t offset : f16_fields(type)) {
      const uint16_t x = base::f32_to_f16(value());
      std::memcpy(&bytes[at + offset], &x, 2);
    }
  }
  return bytes;
}

}  // namespace puna::quant
