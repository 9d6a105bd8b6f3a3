#include "kernels/sample/cuts.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/sample/arithmetic.h"

namespace puna::kernels::sampling {
namespace {

constexpr float kNoWeight = 19;  // further below the top a weight is 0
constexpr float kQ20 = 1 << 20;

void drop_weightless(Keys& keys, uint32_t top) {
  std::erase_if(keys, [&](uint32_t key) { return distance(key, top) > kNoWeight; });
}

uint64_t times_fraction(uint64_t a, uint32_t fraction) {
  return (a >> 32) * fraction + (((a & 0xffffffff) * fraction) >> 32);
}

// How far a key lies below the top, in units of 2^-20; at most kNoWeight.
uint32_t distance_q20(uint32_t key, uint32_t top) {
  return static_cast<uint32_t>(std::min(distance(key, top), kNoWeight) * kQ20);
}

}  // namespace

uint64_t total_weight(std::span<const uint32_t> keys, uint32_t top) {
  uint64_t total = 0;
  for (const uint32_t key : keys) total += weight(key, top);
  return total;
}

// A weight times its distance is at most e^-1 of the top's, so that the sums of 2^19 of them fit.
uint64_t mean_distance_q20(std::span<const uint32_t> keys, uint32_t top) {
  uint64_t sum = 0;
  for (const uint32_t key : keys) sum += uint64_t{weight(key, top)} * distance_q20(key, top);
  return sum / total_weight(keys, top);
}

void keep_top_k(Keys& keys, uint32_t k) {
  if (k == 0 || k >= keys.size()) return;
  const auto last = keys.begin() + static_cast<ptrdiff_t>(k - 1);
  std::nth_element(keys.begin(), last, keys.end(), std::greater<>());
  const uint32_t least = *last;
  std::erase_if(keys, [&](uint32_t key) { return key < least; });
}

void keep_top_p(Keys& keys, uint32_t p) {
  const uint32_t top = std::ranges::max(keys);
  drop_weightless(keys, top);
  std::ranges::sort(keys, std::greater<>());
  const uint64_t wanted = std::max<uint64_t>(times_fraction(total_weight(keys, top), p), 1);
  uint64_t sum = 0;
  uint32_t least = keys.back();
  for (const uint32_t key : keys) {
    sum += weight(key, top);
    if (sum < wanted) continue;
    least = key;
    break;
  }
  std::erase_if(keys, [&](uint32_t key) { return key < least; });
}

void keep_typical(Keys& keys, uint32_t p) {
  const uint32_t top = std::ranges::max(keys);
  drop_weightless(keys, top);
  const auto mean = static_cast<int64_t>(mean_distance_q20(keys, top));
  const auto off = [&](uint32_t key) {
    return std::abs(static_cast<int64_t>(distance_q20(key, top)) - mean);
  };
  std::ranges::sort(keys, {}, off);
  const uint64_t wanted = std::max<uint64_t>(times_fraction(total_weight(keys, top), p), 1);
  uint64_t sum = 0;
  int64_t furthest = off(keys.back());
  for (const uint32_t key : keys) {
    sum += weight(key, top);
    if (sum < wanted) continue;
    furthest = off(key);
    break;
  }
  std::erase_if(keys, [&](uint32_t key) { return off(key) > furthest; });
}

void keep_above(Keys& keys, float log_min_p) {
  const uint32_t least = order_key(value_of(std::ranges::max(keys)) + log_min_p);
  std::erase_if(keys, [&](uint32_t key) { return key < least; });
}

void drop_top_choices(Keys& keys, uint32_t threshold) {
  const uint32_t top = std::ranges::max(keys);
  const uint64_t wanted = times_fraction(total_weight(keys, top), threshold);
  uint32_t least = top;  // of those that reach the threshold
  for (const uint32_t key : keys) {
    if (weight(key, top) >= std::max<uint64_t>(wanted, 1)) least = std::min(least, key);
  }
  std::erase_if(keys, [&](uint32_t key) { return key > least; });
}

float deviations(std::span<const uint32_t> keys, float n) {
  double sum = 0, squares = 0, count = 0;
  for (const uint32_t key : keys) {
    if (key <= kKeyNegativeInfinity) continue;
    sum += value_of(key);
    ++count;
  }
  const double mean = sum / count;
  for (const uint32_t key : keys) {
    if (key <= kKeyNegativeInfinity) continue;
    const double off = value_of(key) - mean;
    const volatile double square = off * off;  // rounded before the sum
    squares += square;
  }
  return static_cast<float>(n * std::sqrt(squares / count));
}

}  // namespace puna::kernels::sampling
