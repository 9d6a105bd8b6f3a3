// What the cases of the self-test share: seeded inputs, the distance from a reference and its
// limits.
#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace puna::kernels {

inline std::vector<float> normal(uint64_t n, uint32_t seed, float mean = 0, float deviation = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> draw(mean, deviation);
  std::vector<float> out(static_cast<size_t>(n));
  for (float& v : out) v = draw(engine);
  return out;
}

// Normalised mean squared error; not finite when x holds NaN.
inline double nmse(std::span<const float> x, std::span<const float> reference) {
  double error = 0, power = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    error += (double{x[i]} - reference[i]) * (double{x[i]} - reference[i]);
    power += double{reference[i]} * reference[i];
  }
  return error == 0 ? 0 : error / power;
}

// The share of words that differ: 0 when all are the same.
template <class T>
double different(const std::vector<T>& x, const std::vector<T>& reference) {
  size_t n = 0;
  for (size_t i = 0; i < reference.size(); ++i)
    n += std::bit_cast<uint32_t>(x[i]) != std::bit_cast<uint32_t>(reference[i]);
  return static_cast<double>(n) / static_cast<double>(reference.size());
}

// Of each row of sounds that have so many rows, how many rows of its sound come before it: the
// first of `stride` numbers.
inline std::vector<float> rows_before(std::span<const uint32_t> of_sounds, uint32_t stride) {
  std::vector<float> out;
  for (const uint32_t n : of_sounds) {
    for (uint32_t i = 0; i < n; ++i) {
      out.push_back(static_cast<float>(i));
      out.resize(out.size() + stride - 1, 99.0f);
    }
  }
  return out;
}

// Limits of the normalised mean squared error; their reasons are in docs/numerics.md.
constexpr double kF32Limit = 1e-10;  // f32 sums in another order
constexpr double kInt8Limit = 1e-4;  // int8 activations against exact ones
constexpr double kF16Limit = 1e-6;   // f16 operands of matrix units
constexpr double kBf16Limit = 1e-5;  // activations rounded to bf16

}  // namespace puna::kernels
