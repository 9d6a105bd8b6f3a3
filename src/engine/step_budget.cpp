#include "engine/step_budget.h"

#include <algorithm>

#include "kernels/common/step.h"

namespace puna::engine {
namespace {

// One step says little, and a wait that is too long is worse than a step that is too short: a
// figure rises at once, up to fourfold, and falls by half of the way.
double moved(double before, double measured) {
  if (before == 0) return measured;
  return measured > before ? std::min(measured, 4 * before) : (before + measured) / 2;
}

// How far beyond what was expected all but one in a hundred steps of late stayed, at most twice: a
// step beyond it moves the bound up, each other one a hundredth of that down (a stochastic
// quantile, Robbins and Monro 1951). One long step, such as the first of a kind, says little.
constexpr double kMostBeyond = 2, kShareBeyond = 0.01, kMove = 0.1;

// Steps over which prompts are spread beside streams, and how long each may be in any case, also in
// decodes.
constexpr double kSteps = 8, kLeastMs = 25, kLeastDecodes = 3;

}  // namespace

double StepBudget::stream_wait_ms(double most_ms, size_t n_left) const {
  const double share = static_cast<double>(n_left) * ms_per_token_ / kSteps;
  const double least = std::max(kLeastMs, kLeastDecodes * decode_ms_);
  return std::max(std::min(most_ms, std::max(share, least)), 2 * decode_ms_);
}

uint32_t StepBudget::tokens(double ms) const {
  if (ms <= 0 || ms_per_token_ <= 0) return kernels::kMaxStepTokens;
  const double fit = std::min(ms / (beyond_ * ms_per_token_), double{kernels::kMaxStepTokens});
  return std::max(static_cast<uint32_t>(fit) / kLeast * kLeast, kLeast);
}

double StepBudget::prompt_ms(double ms, uint32_t n_beside) const {
  // What a decode step takes may be known from when more texts were under way.
  return n_beside == 0 ? ms : std::max(ms - decode_ms_, ms / 2);
}

void StepBudget::read(uint32_t n_tokens, double ms, uint32_t n_beside) {
  if (n_tokens == 0) return;
  const double measured = ms / n_tokens;
  // A few tokens beside many others say no more than that they cost no more. Were their time taken
  // for that of the step, the next ones would be fewer still, and prompts would starve.
  if (n_beside > n_tokens && measured > ms_per_token_) return;
  if (is_known_) {
    const bool is_beyond = measured > beyond_ * ms_per_token_;
    beyond_ += kMove * (is_beyond ? 1 - kShareBeyond : -kShareBeyond);
    beyond_ = std::clamp(beyond_, 1.0, kMostBeyond);
  }
  is_known_ = true;
  ms_per_token_ = moved(ms_per_token_, measured);
}

void StepBudget::decoded(double ms) { decode_ms_ = moved(decode_ms_, ms); }

}  // namespace puna::engine
