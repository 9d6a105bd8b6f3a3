#include "kernels/sample/mirostat.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/sample/arithmetic.h"
#include "kernels/sample/surprises.h"

namespace puna::kernels::sampling {
namespace {

constexpr size_t kEstimated = 100;  // of so many largest, the paper's m

// How many tokens the paper's estimate of the slope s of Zipf's law gives (equations 7 and 30).
uint32_t estimated_count(std::span<const uint32_t> falling, float mu, uint32_t vocab) {
  double products = 0, squares = 0;
  for (size_t i = 0; i + 1 < std::min(falling.size(), kEstimated); ++i) {
    const double t = std::log((static_cast<double>(i) + 2) / (static_cast<double>(i) + 1));
    const double b = distance(falling[i + 1], falling[0]) - distance(falling[i], falling[0]);
    products += t * b;
    squares += t * t;
  }
  const auto all = static_cast<double>(falling.size());
  const double s = squares > 0 ? products / squares : 1;
  const double epsilon = s - 1;
  const double count = std::pow(
      epsilon * std::exp2(double{mu}) / (1 - std::pow(static_cast<double>(vocab), -epsilon)),
      1 / s);
  // Where the slope is 0 or 1 there is no such number.
  return static_cast<uint32_t>(std::isfinite(count) ? std::clamp(count, 1.0, all) : all);
}

}  // namespace

void mirostat_cut(const MirostatParams& params, float mu, uint32_t vocab, Keys& keys) {
  std::erase_if(keys, [](uint32_t key) { return key <= kKeyNegativeInfinity; });
  if (params.version == 1) {
    std::ranges::sort(keys, std::greater<>());
    return keep_top_k(keys, estimated_count(keys, mu, vocab));
  }
  const Surprises surprises(keys);
  const uint32_t top = std::ranges::max(keys);
  const auto most = static_cast<int64_t>(double{mu} * 0x1p24);
  std::erase_if(keys, [&](uint32_t key) { return key != top && surprises.of(key) > most; });
}

float mirostat_next(const MirostatParams& params, float mu, std::span<const uint32_t> kept,
                    uint32_t chosen) {
  const float surprise = static_cast<float>(Surprises(kept).of(chosen)) * 0x1p-24f;
  const volatile float step = params.eta * (surprise - params.tau);  // rounded before the sum
  return mu - step;
}

}  // namespace puna::kernels::sampling
