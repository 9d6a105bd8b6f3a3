#include "kernels/sample/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>

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

constexpr std::array<std::string_view, 9> kNames = {
    "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"};

base::Result<void> check_samplers(std::span<const Sampler> samplers) {
  for (size_t i = 0; i < samplers.size(); ++i) {
    if (std::ranges::count(samplers, samplers[i]) == 1) continue;
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The sampler {} is in the order more than once.", name(samplers[i])));
  }
  return {};
}

base::Result<void> check_dry(const DryParams& dry) {
  PUNA_TRY(in_range("The DRY multiplier", dry.multiplier, kDryMultiplier));
  PUNA_TRY(in_range("The DRY base", dry.base, kDryBase));
  size_t longest = 0;
  for (const std::vector<int32_t>& breaker : dry.breakers) {
    if (breaker.empty())
      return base::fail(ErrorCode::kInvalidArgument, "A DRY sequence breaker has no tokens.");
    longest = std::max(longest, breaker.size());
  }
  if (dry.breakers.size() <= kMaxDryBreakers && longest <= kMaxDryBreakers) return {};
  return base::fail(
      ErrorCode::kInvalidArgument,
      fmt::format("There are {} DRY sequence breakers of up to {} tokens, but at most "
                  "{} of up to {} are expected.",
                  dry.breakers.size(), longest, kMaxDryBreakers, kMaxDryBreakers));
}

base::Result<void> check_mirostat(const MirostatParams& mirostat) {
  if (mirostat.version > 2) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The version of mirostat is {}, but 0 (off), 1 or 2 is expected.",
                                  mirostat.version));
  }
  PUNA_TRY(in_range("The mirostat tau", mirostat.tau, kTau));
  return in_range("The mirostat eta", mirostat.eta, kEta);
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
  PUNA_TRY(in_range("typical-p", params.typical_p, kProbability));
  PUNA_TRY(in_range("top-n-sigma", params.top_n_sigma, kSigmas));
  PUNA_TRY(in_range("The XTC probability", params.xtc_probability, kProbability));
  PUNA_TRY(in_range("The XTC threshold", params.xtc_threshold, kProbability));
  PUNA_TRY(in_range("The dynamic temperature range", params.dynatemp_range, kTemperature));
  PUNA_TRY(in_range("The dynamic temperature exponent", params.dynatemp_exponent, kExponent));
  PUNA_TRY(check_dry(params.dry));
  PUNA_TRY(check_mirostat(params.mirostat));
  PUNA_TRY(check_samplers(params.samplers));
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

std::string_view name(Sampler sampler) { return kNames[static_cast<size_t>(sampler)]; }

std::optional<Sampler> sampler_named(std::string_view wanted) {
  const auto found = std::ranges::find(kNames, wanted);
  if (found == kNames.end()) return {};
  return static_cast<Sampler>(found - kNames.begin());
}

std::vector<Sampler> usual_samplers() {
  std::vector<Sampler> out;
  for (size_t i = 0; i < kNames.size(); ++i) out.push_back(static_cast<Sampler>(i));
  return out;
}

bool SamplingParams::has(Sampler stage) const {
  return std::ranges::find(samplers, stage) != samplers.end();
}

std::vector<Sampler> SamplingParams::stages() const {
  const auto changes = [&](Sampler stage) {
    switch (stage) {
      case Sampler::kPenalties:
        return penalized();
      case Sampler::kDry:
        return dry.multiplier > 0 && dry.last > 0;
      case Sampler::kTemperature:
        return temperature != 1 || dynatemp_range > 0;
      default:
        break;
    }
    if (mirostat.version > 0) return false;
    switch (stage) {
      case Sampler::kTopNSigma:
        return top_n_sigma > 0;
      case Sampler::kTopK:
        return top_k > 0;
      case Sampler::kTypicalP:
        return typical_p < 1;
      case Sampler::kTopP:
        return top_p < 1;
      case Sampler::kMinP:
        return min_p > 0;
      default:  // XTC; of two tokens one is below a half
        return xtc_probability > 0 && xtc_threshold <= 0.5f;
    }
  };
  std::vector<Sampler> out;
  std::ranges::copy_if(samplers, std::back_inserter(out), changes);
  if (!greedy()) return out;
  // The largest stays through these, and it is all that counts where nothing else follows.
  const auto keeps_largest = [](Sampler stage) {
    return stage == Sampler::kTopNSigma || stage == Sampler::kTopK || stage == Sampler::kTopP ||
           stage == Sampler::kMinP;
  };
  const auto end = std::find_if(out.rbegin(), out.rend(), [&](Sampler stage) {
    return !keeps_largest(stage) && stage != Sampler::kTemperature;
  });
  out.erase(std::remove_if(end.base(), out.end(), keeps_largest), out.end());
  return out;
}

uint32_t SamplingParams::looks_back() const {
  uint32_t n = penalized() ? repeat_last : 0;
  if (dry.multiplier > 0 && has(Sampler::kDry)) n = std::max(n, dry.last);
  return n;
}

bool SamplingParams::on_host() const {
  constexpr std::array kOnDevice = {Sampler::kPenalties, Sampler::kTopK, Sampler::kTopP,
                                    Sampler::kMinP, Sampler::kTemperature};
  if (n_probs > 0 || mirostat.version > 0 || dynatemp_range > 0) return true;
  auto next = kOnDevice.begin();
  for (const Sampler stage : stages()) {
    next = std::find(next, kOnDevice.end(), stage);
    if (next == kOnDevice.end()) return true;
  }
  return false;
}

uint32_t fraction_q32(float p) {
  return std::max(1u, static_cast<uint32_t>(std::min(double{p}, 1 - 0x1p-32) * 0x1p32));
}

float score_scale(float temperature) {
  return static_cast<float>(std::min(0x1p24 * kLog2E / double{temperature}, kMaxScale));
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
  row.scale = score_scale(params.has(Sampler::kTemperature) ? params.temperature : 1.0f);
  if (params.has(Sampler::kTopK)) row.top_k = params.top_k;
  if (params.top_p < 1.0f && params.has(Sampler::kTopP)) row.top_p = fraction_q32(params.top_p);
  if (params.min_p > 0.0f && params.has(Sampler::kMinP))
    row.log_min_p = static_cast<float>(std::log(double{params.min_p}));
  return row;
}

}  // namespace puna::kernels
