#include "kernels/sample/surprises.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/sample/arithmetic.h"
#include "kernels/sample/cuts.h"

namespace puna::kernels::sampling {
namespace {

int64_t log2_q24_of(uint64_t x) {
  const int beyond = std::max(static_cast<int>(std::bit_width(x)) - 32, 0);
  return log2_q24(static_cast<uint32_t>(x >> beyond)) + (int64_t{beyond} << 24);
}

}  // namespace

Surprises::Surprises(std::span<const uint32_t> keys) : top_(std::ranges::max(keys)) {
  constexpr int64_t kWeightBits = 26;
  log2_total_ = log2_q24_of(total_weight(keys, top_)) - (kWeightBits << 24);
  constexpr uint64_t kLog2EQ24 = 24204406;
  entropy = log2_total_ + static_cast<int64_t>((mean_distance_q20(keys, top_) * kLog2EQ24) >> 20);
  most_entropy = log2_q24_of(static_cast<uint64_t>(
      std::ranges::count_if(keys, [](uint32_t key) { return key > kKeyNegativeInfinity; })));
}

int64_t Surprises::of(uint32_t key) const {
  constexpr float kLog2EQ24 = 24204406, kNever = 1 << 30;
  return log2_total_ + static_cast<int64_t>(std::min(distance(key, top_) * kLog2EQ24, kNever));
}

float dynamic_temperature(const SamplingParams& params, const Surprises& surprises) {
  const float lowest = std::max(params.temperature - params.dynatemp_range, 0.0f);
  const float highest = params.temperature + params.dynatemp_range;
  if (surprises.entropy <= 0) return params.dynatemp_exponent > 0 ? lowest : highest;
  // (entropy / most) ^ exponent as a power of two.
  const int64_t below = log2_q24(static_cast<uint32_t>(surprises.most_entropy)) -
                        int64_t{log2_q24(static_cast<uint32_t>(surprises.entropy))};
  constexpr float kMost = 63 << 20;
  const float power_of_two = static_cast<float>(std::max<int64_t>(below, 0)) *
                             (params.dynatemp_exponent / 16);  // from 2^-24 to 2^-20
  const uint32_t power = exp2_q26(static_cast<uint32_t>(std::min(power_of_two, kMost)));
  const volatile float above =
      (highest - lowest) * (static_cast<float>(power) * 0x1p-26f);  // rounded before the sum
  return lowest + above;
}

}  // namespace puna::kernels::sampling
