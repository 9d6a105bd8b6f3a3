#include "kernels/sample/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace puna::kernels {

using base::ErrorCode;

namespace {

constexpr double kLog2E = 1.4426950408889634;
constexpr double kMaxScale = 1e30;  // temperatures near 0 stay finite
constexpr double kMaxBias = 1e6;

base::Result<void> in_range(const char* name, float value, const Bounds& bounds) {
  if (value >= bounds.lowest && value <= bounds.highest) return {};  // false for NaN
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("{} is {}, but {} to {} is expected.", name, value, bounds.lowest,
                                bounds.highest));
}

base::Result<void> check_bias(const std::vector<std::pair<int32_t, float>>& bias) {
  if (bias.size() > kMaxLogitBias) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("{} tokens have a logit bias, but at most {} can have one.",
                                  bias.size(), kMaxLogitBias));
  }
  std::vector<int32_t> ids;
  for (const auto& [id, value] : bias) {
    if (id < 0) {
      return base::fail(ErrorCode::kInvalidArgument,
                        fmt::format("The logit bias of token {} names no token.", id));
    }
    if (value != -INFINITY && !(std::fabs(value) <= kMaxBias)) {
      return base::fail(ErrorCode::kInvalidArgument,
                        fmt::format("The logit bias of token {} is {}, but -inf or {} to {} is "
                                    "expected.",
                                    id, value, -kMaxBias, kMaxBias));
    }
    ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice == ids.end()) return {};
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("Token {} is given a logit bias more than once.", *twice));
}

}  // namespace

base::Result<void> check(const SamplingParams& params) {
  PUNA_TRY(in_range("The temperature", params.temperature, kTemperature));
  PUNA_TRY(in_range("top-p", params.top_p, kProbability));
  PUNA_TRY(in_range("min-p", params.min_p, kProbability));
  PUNA_TRY(in_range("The repeat penalty", params.repeat_penalty, kRepeatPenalty));
  PUNA_TRY(in_range("The presence penalty", params.presence_penalty, kPenalty));
  PUNA_TRY(in_range("The frequency penalty", params.frequency_penalty, kPenalty));
  if (params.n_probs > kMaxProbs) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The probabilities of {} tokens are asked for, but at most {} "
                                  "are given.",
                                  params.n_probs, kMaxProbs));
  }
  return check_bias(params.logit_bias);
}

SampleRow sample_row(const SamplingParams& params) {
  SampleRow row{};
  row.log_min_p = -INFINITY;
  row.repeat = params.repeat_penalty;
  row.repeat_inverse = 1.0f / params.repeat_penalty;
  row.frequency = params.frequency_penalty;
  row.presence = params.presence_penalty;
  row.window = params.penalized() ? params.repeat_last : 0;
  row.n_bias = static_cast<uint32_t>(params.logit_bias.size());
  row.seed_low = static_cast<uint32_t>(params.seed);
  row.seed_high = static_cast<uint32_t>(params.seed >> 32);
  if (params.greedy()) return row;
  row.scale = static_cast<float>(std::min(0x1p24 * kLog2E / double{params.temperature}, kMaxScale));
  row.top_k = params.top_k;
  if (params.top_p < 1.0f)
    row.top_p = std::max(1u, static_cast<uint32_t>(double{params.top_p} * 0x1p32));
  if (params.min_p > 0.0f) row.log_min_p = static_cast<float>(std::log(double{params.min_p}));
  return row;
}

}  // namespace puna::kernels
