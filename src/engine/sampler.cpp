#include "engine/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace puna::engine {

using base::ErrorCode;

namespace {

base::Result<void> in_range(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return {};  // false for NaN
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("{} is {}, but {} to {} is expected.", name, value, low, high));
}

// SplitMix64 (Steele, Lea and Flood 2014): a counter-based generator, so that draw n of a seed is
// the same everywhere.
uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

base::Result<void> check(const SamplingParams& params) {
  PUNA_TRY(in_range("The temperature", params.temperature, 0, 100));
  PUNA_TRY(in_range("top-p", params.top_p, 0, 1));
  PUNA_TRY(in_range("min-p", params.min_p, 0, 1));
  PUNA_TRY(in_range("The repeat penalty", params.repeat_penalty, 0.01, 100));
  return {};
}

double Sampler::uniform() {
  return static_cast<double>(mix(mix(params_.seed) + n_draws_++) >> 11) * 0x1p-53;
}

int32_t Sampler::sample(std::span<const float> logits, std::span<const int32_t> recent) {
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  };
  candidates_.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    // A NaN can never win.
    candidates_[i] = {std::isnan(logits[i]) ? -INFINITY : logits[i], static_cast<int32_t>(i)};
  }
  if (params_.penalized()) {
    std::vector<int32_t> seen(
        recent.end() - static_cast<ptrdiff_t>(std::min<size_t>(recent.size(), params_.repeat_last)),
        recent.end());
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (int32_t id : seen) {
      float& logit = candidates_[static_cast<size_t>(id)].logit;
      logit = logit > 0 ? logit / params_.repeat_penalty : logit * params_.repeat_penalty;
    }
  }
  if (params_.greedy()) return std::min_element(candidates_.begin(), candidates_.end(), better)->id;

  // top-k, on the logits themselves.
  if (params_.top_k > 0 && params_.top_k < candidates_.size()) {
    std::nth_element(candidates_.begin(), candidates_.begin() + params_.top_k, candidates_.end(),
                     better);
    candidates_.resize(params_.top_k);
  }
  const float largest = std::min_element(candidates_.begin(), candidates_.end(), better)->logit;
  // min-p before sorting: p >= min_p * p_max, at temperature 1.
  if (params_.min_p > 0) {
    const float floor = largest + std::log(params_.min_p);
    std::erase_if(candidates_, [&](const Candidate& c) { return c.logit < floor; });
  }
  std::sort(candidates_.begin(), candidates_.end(), better);
  // top-p: the smallest set of the most likely whose probability reaches it.
  if (params_.top_p < 1.0f) {
    double total = 0;
    for (const Candidate& c : candidates_) total += std::exp(double{c.logit} - largest);
    double sum = 0;
    size_t kept = 0;
    while (kept < candidates_.size()) {
      sum += std::exp(double{candidates_[kept].logit} - largest);
      ++kept;
      if (sum >= double{params_.top_p} * total) break;
    }
    candidates_.resize(std::max<size_t>(kept, 1));
  }
  weights_.clear();
  double total = 0;
  for (const Candidate& c : candidates_) {
    total += std::exp((double{c.logit} - largest) / double{params_.temperature});
    weights_.push_back(total);
  }
  const double target = uniform() * total;
  const size_t chosen = static_cast<size_t>(
      std::upper_bound(weights_.begin(), weights_.end(), target) - weights_.begin());
  return candidates_[std::min(chosen, candidates_.size() - 1)].id;
}

}  // namespace puna::engine
