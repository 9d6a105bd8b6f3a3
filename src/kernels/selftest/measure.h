// What the cases of the self-test share: seeded inputs and the distance from a reference.
#pragma once

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

}  // namespace puna::kernels
