#include "service/perplexity/score.h"

#include <algorithm>
#include <cmath>

namespace puna::service {
namespace {

constexpr float kLeastLog = -16;  // tokens that the base holds for less likely are left out

// e to the mean of a logarithm; the error by its derivative.
Estimate exponential(Estimate log) {
  const double value = std::exp(log.value);
  return {value, value * log.error};
}

}  // namespace

double log_sum(std::span<const float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float l : logits) sum += double{std::exp(l - most)};
  return most + std::log(sum);
}

TokenScore score(std::span<const float> logits, double log_sum, int32_t next) {
  return {.nll = log_sum - double{logits[static_cast<size_t>(next)]}};
}

TokenScore score(std::span<const float> logits, double log_sum, int32_t next, const BaseRow& base) {
  TokenScore out = score(logits, log_sum, next);
  out.base_nll = -base.log_probability(static_cast<size_t>(next));
  out.change = std::exp(-out.nll) - std::exp(-out.base_nll);
  const auto sum = static_cast<float>(log_sum);
  size_t first = 0;
  uint16_t most = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > logits[first]) first = i;
    most = std::max(most, base.codes[i]);
    const float log_p = base.log_probability(i);
    if (log_p <= kLeastLog) continue;
    const float log_q = logits[i] - sum;
    const double p = std::exp(log_p), q = std::exp(log_q);
    out.kl += p * (double{log_p} - log_q) - p + q;
  }
  out.same_first = base.codes[first] == most;
  return out;
}

Estimate PerplexityStatistics::Moments::mean(size_t n) const {
  if (n == 0) return {};
  const auto count = static_cast<double>(n);
  const double value = sum / count;
  const double variance = std::max(squares / count - value * value, 0.0);
  return {value, n > 1 ? std::sqrt(variance / (count - 1)) : 0};
}

void PerplexityStatistics::add(const TokenScore& score) {
  ++n_;
  nll_.add(score.nll);
  if (!has_base_) return;
  base_nll_.add(score.base_nll);
  ratio_.add(score.nll - score.base_nll);
  kl_.add(score.kl);
  kls_.push_back(static_cast<float>(score.kl));
  change_.add(score.change);
  square_.add(score.change * score.change);
  if (score.same_first) ++n_same_;
}

Estimate PerplexityStatistics::perplexity() const { return exponential(nll_.mean(n_)); }
Estimate PerplexityStatistics::base_perplexity() const { return exponential(base_nll_.mean(n_)); }
Estimate PerplexityStatistics::log_ratio() const { return ratio_.mean(n_); }
Estimate PerplexityStatistics::kl() const { return kl_.mean(n_); }
Estimate PerplexityStatistics::change() const { return change_.mean(n_); }

double PerplexityStatistics::kl_quantile(double share) const {
  if (kls_.empty()) return 0;
  std::vector<float> sorted = kls_;
  std::ranges::sort(sorted);
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const double low = sorted[below], high = sorted[std::min(below + 1, sorted.size() - 1)];
  return low + (high - low) * (at - static_cast<double>(below));
}

Estimate PerplexityStatistics::change_rms() const {
  const Estimate square = square_.mean(n_);
  const double value = std::sqrt(square.value);
  return {value, value > 0 ? square.error / (2 * value) : 0};
}

Estimate PerplexityStatistics::same_first() const {
  if (n_ == 0) return {};
  const double value = static_cast<double>(n_same_) / static_cast<double>(n_);
  return {value, n_ > 1 ? std::sqrt(value * (1 - value) / static_cast<double>(n_ - 1)) : 0};
}

}  // namespace puna::service
