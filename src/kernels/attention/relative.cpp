#include "kernels/attention/relative.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>

namespace puna::kernels {

// In f32, as the models were trained: which side of a bucket's end a distance is on may hang on it.
uint32_t relative_bucket(const RelativeBuckets& buckets, int64_t distance) {
  const uint32_t half = buckets.n / 2, n_exact = half / 2;
  const uint32_t first = distance > 0 ? half : 0;
  const int64_t far = std::abs(distance);
  if (far < n_exact) return first + static_cast<uint32_t>(far);
  const auto exact = static_cast<float>(n_exact);
  const auto whole = static_cast<float>(std::log(static_cast<double>(buckets.reach) / n_exact));
  const float power = std::log(static_cast<float>(far) / exact) / whole;
  const float wider = power * static_cast<float>(half - n_exact);
  return first + std::min(half - 1, n_exact + static_cast<uint32_t>(wider));
}

std::vector<float> relative_biases(const RelativeBuckets& buckets, uint32_t n_heads,
                                   const float* table) {
  const size_t n = 2 * size_t{buckets.reach} + 1;
  std::vector<float> out(n_heads * n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t distance = static_cast<int64_t>(i) - int64_t{buckets.reach};
    const float* const row = table + size_t{relative_bucket(buckets, distance)} * n_heads;
    for (size_t h = 0; h < n_heads; ++h) out[h * n + i] = row[h];
  }
  return out;
}

}  // namespace puna::kernels
