// Random weight rows in file layout, for tests and benchmarks of everything that reads weights.
#pragma once

#include <algorithm>
#include <cmath>
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
                                                   kQ2 = {80, 82}, kQ3 = {108}, kQ6 = {208},
                                                   kTQ1 = {52}, kTQ2 = {64};
  switch (type) {
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
    case Type::kTQ1_0:
      return kTQ1;
    case Type::kTQ2_0:
      return kTQ2;
    case Type::kF32:
    case Type::kBf16:
    case Type::kIQ1_M:
    case Type::kMXFP4:
    case Type::kNVFP4:
    case Type::kQ4F32_1:
      return kNone;
    default:
      return kFirst;
  }
}

// Puts a scale of about x where no f16 holds it.
inline void set_scale_parts(Type type, float x, std::byte* block) {
  const auto put_top = [&](size_t i, uint32_t nibble) {
    const uint32_t low = std::to_integer<uint32_t>(block[49 + 2 * i]) & 15;
    block[49 + 2 * i] = static_cast<std::byte>(low | nibble << 4);
  };
  const int exponent = x == 0 ? -100 : std::ilogb(x);
  if (type == Type::kIQ1_M) {
    const uint32_t half = base::f32_to_f16(x);
    for (size_t i = 0; i < 4; ++i) put_top(i, half >> (4 * i) & 15);
  } else if (type == Type::kMXFP4) {
    block[0] = static_cast<std::byte>(std::clamp(exponent + 128, 2, 250));
  } else if (type == Type::kQ4F32_1) {
    std::memcpy(block, &x, 4);
  } else if (type == Type::kNVFP4) {
    // The file's own bits for the mantissa; the eighth is ignored.
    const int field = std::clamp(exponent + 8, 0, 15);
    for (size_t i = 0; i < 4; ++i) {
      const uint32_t kept = std::to_integer<uint32_t>(block[i]) & 0x87;
      block[i] = static_cast<std::byte>(kept | static_cast<uint32_t>(field) << 3);
    }
  }
}

// Random bytes, and floating-point fields as `value` draws them. [rows, cols], cols a multiple of
// the type's block.
template <class Value>
std::vector<std::byte> fill_rows(Type type, uint32_t rows, uint32_t cols, std::mt19937& random,
                                 const Value& value) {
  const TypeInfo& t = info(type);
  const bool in_parts = type == Type::kIQ1_M || type == Type::kMXFP4 || type == Type::kNVFP4 ||
                        type == Type::kQ4F32_1;
  std::vector<std::byte> bytes(static_cast<size_t>(rows * row_bytes(type, cols)));
  for (size_t at = 0; at < bytes.size(); at += t.block_bytes) {
    for (uint32_t i = 0; i < t.block_bytes; ++i) bytes[at + i] = static_cast<std::byte>(random());
    if (type == Type::kF32) {
      const float x = value();
      std::memcpy(&bytes[at], &x, 4);
    } else if (type == Type::kBf16) {
      const uint16_t x = base::f32_to_bf16(value());
      std::memcpy(&bytes[at], &x, 2);
    } else if (in_parts) {
      set_scale_parts(type, value(), &bytes[at]);
    }
    for (uint32_t offset : f16_fields(type)) {
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
