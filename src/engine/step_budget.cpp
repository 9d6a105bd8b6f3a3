#include "engine/step_budget.h"

#include <algorithm>

namespace puna::engine {
namespace {

// One step says little, and a wait that is too long is worse than a step that is too short: a
// figure rises at once, up to fourfold, and falls by half of the way.
constexpr double kMostRise = 4;
double moved(double before, double measured) {
  if (before == 0) return measured;
  return measured > before ? std::min(measured, kMostRise * before) : (before + measured) / 2;
}

// How far beyond what was expected all but one in a hundred steps of late stayed, at most twice: a
// step beyond it moves the bound up, each other one a hundredth of that down (a stochastic
// quantile, Robbins and Monro 1951). One long step, such as the first of a kind, says little.
constexpr double kMostBeyond = 2, kShareBeyond = 0.01, kMove = 0.1;

// Steps over which prompts are spread beside streams, and how long each may be in any case, also in
// decodes.
constexpr double kSteps = 8, kLeastMs = 25, kLeastDecodes = 3, kLeastFirsts = 12;

// Of Points: what one counts when the next has come, how far apart they are at least (of their
// mean, as a variance), and the most that is believed.
constexpr double kKept = 0.95, kLeastSpread = 0.05, kMostFirst = 256;

}  // namespace

void StepBudget::Points::add(double n, double t) {
  for (double* sum : {&weight, &tokens, &squares, &ms, &products}) *sum *= kKept;
  weight += 1;
  tokens += n;
  squares += n * n;
  ms += t;
  products += n * t;
}

std::optional<double> StepBudget::Points::first_tokens() const {
  const double spread = weight * squares - tokens * tokens;
  if (spread < kLeastSpread * tokens * tokens) return std::nullopt;
  const double slope = (weight * products - tokens * ms) / spread;
  if (slope <= 0) return std::nullopt;
  return std::clamp((ms - slope * tokens) / weight / slope, 0.0, kMostFirst);
}

double StepBudget::stream_wait_ms(double most_ms, size_t n_left) const {
  const double share = static_cast<double>(n_left) * ms_per_token_ / kSteps;
  const double least = std::max(
      {kLeastMs, kLeastDecodes * decode_ms_, kLeastFirsts * first_tokens_ * ms_per_token_});
  return std::max(std::min(most_ms, std::max(share, least)), 2 * decode_ms_);
}

uint32_t StepBudget::tokens(double ms, uint32_t most) const {
  if (ms <= 0 || ms_per_token_ <= 0) return most;
  const double fit = ms / (beyond_ * ms_per_token_) - first_tokens_;
  if (fit >= most) return most;
  return std::max(static_cast<uint32_t>(std::max(fit, 0.0)) / kLeast * kLeast, kLeast);
}

double StepBudget::prompt_ms(double ms, uint32_t n_beside) const {
  // What a decode step takes may be known from when more texts were under way.
  return n_beside == 0 ? ms : std::max(ms - decode_ms_, ms / 2);
}

void StepBudget::read(uint32_t n_tokens, double ms, uint32_t n_beside) {
  if (n_tokens == 0) return;
  const double expected = cost_ms(n_tokens);
  // A few tokens beside many others say no more than that they cost no more. Were their time taken
  // for that of the step, the next ones would be fewer still, and prompts would starve.
  if (n_beside > n_tokens && ms > expected) return;
  if (is_known_) {
    const bool is_beyond = ms > beyond_ * expected;
    beyond_ += kMove * (is_beyond ? 1 - kShareBeyond : -kShareBeyond);
    beyond_ = std::clamp(beyond_, 1.0, kMostBeyond);
  }
  ms_per_token_ = moved(ms_per_token_, ms / (n_tokens + first_tokens_));
  points_.add(n_tokens, is_known_ ? std::min(ms, kMostRise * expected) : ms);
  is_known_ = true;
  // What is not seen any more is forgotten. The cost of a step as they are stays.
  const double first = points_.first_tokens().value_or(kKept * first_tokens_);
  const double usual = points_.tokens / points_.weight;
  ms_per_token_ *= (usual + first_tokens_) / (usual + first);
  first_tokens_ = first;
}

void StepBudget::decoded(double ms) { decode_ms_ = moved(decode_ms_, ms); }

}  // namespace puna::engine
