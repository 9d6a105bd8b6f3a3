#include "service/perplexity/score.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace puna::service {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The logarithms of probabilities, which are logits like others.
std::vector<float> logits_of(const std::vector<double>& probabilities, float shift) {
  std::vector<float> out;
  for (const double p : probabilities) out.push_back(static_cast<float>(std::log(p)) + shift);
  return out;
}

std::vector<uint16_t> words_of(const std::vector<float>& logits) {
  std::vector<uint16_t> words(base_row_words(static_cast<uint32_t>(logits.size())));
  make_base_row(logits, log_sum(logits), words);
  return words;
}

TokenScore beside(const std::vector<float>& logits, int32_t next, const std::vector<float>& base) {
  const std::vector<uint16_t> words = words_of(base);
  return score(logits, log_sum(logits), next,
               base_row(words, static_cast<uint32_t>(logits.size())));
}

}  // namespace

TEST_CASE("the logarithm of the sum neither overflows nor minds tokens of no probability") {
  CHECK(log_sum(std::vector<float>{1000, 1000}) == doctest::Approx(1000 + std::log(2)));
  CHECK(log_sum(std::vector<float>{-1000, -1000}) == doctest::Approx(-1000 + std::log(2)));
  CHECK(log_sum(std::vector<float>{-kInfinity, 3, -kInfinity}) == doctest::Approx(3));
}

TEST_CASE("a token's score is -ln of its probability") {
  const std::vector<float> logits = logits_of({0.5, 0.3, 0.2}, 7);
  const double sum = log_sum(logits);
  CHECK(score(logits, sum, 0).nll == doctest::Approx(-std::log(0.5)));
  CHECK(score(logits, sum, 2).nll == doctest::Approx(-std::log(0.2)));
  const std::vector<float> masked = {-kInfinity, 1};
  CHECK(score(masked, log_sum(masked), 0).nll == kInfinity);
}

TEST_CASE("beside a base: divergence, change of the token's probability, first choice") {
  const std::vector<double> p = {0.5, 0.3, 0.15, 0.05}, q = {0.2, 0.6, 0.15, 0.05};
  const TokenScore s = beside(logits_of(q, -3), 1, logits_of(p, 40));
  double kl = 0;
  for (size_t i = 0; i < p.size(); ++i) kl += p[i] * std::log(p[i] / q[i]);
  CHECK(s.kl == doctest::Approx(kl).epsilon(1e-4));
  CHECK(s.change == doctest::Approx(0.3).epsilon(1e-3));
  CHECK(s.base_nll == doctest::Approx(-std::log(0.3)).epsilon(1e-4));
  CHECK(!s.same_first);
  CHECK(beside(logits_of(p, 0), 1, logits_of(p, 5)).same_first);
  // 16 bits do not tell these two apart.
  CHECK(beside({1.00001f, 1, -20}, 0, {1, 1.00001f, -20}).same_first);
}

TEST_CASE("a model beside itself diverges far less than the base's rounding") {
  std::vector<float> logits;
  for (uint32_t i = 0; i < 5001; ++i)
    logits.push_back(static_cast<float>((i * 2654435761u) >> 8) / (1 << 20));  // 0 to 16
  const TokenScore s = beside(logits, 17, logits);
  CHECK(s.kl >= 0);
  CHECK(s.kl < 1e-7);
  CHECK(std::fabs(s.base_nll - s.nll) < 2e-4);
}

TEST_CASE("what lies 16 below the likeliest has no part in the divergence") {
  const std::vector<float> base = {0, 0, -20, -kInfinity};
  CHECK(beside({0, 0, -30, -kInfinity}, 0, base).kl == doctest::Approx(0));
  CHECK(beside({0, -kInfinity, -20, -20}, 0, base).kl == kInfinity);
}

TEST_CASE("statistics: means, standard errors, quantiles") {
  PerplexityStatistics s(/*has_base=*/true);
  for (int i = 0; i < 101; ++i) {
    TokenScore score;
    score.nll = i % 2 == 0 ? 1 : 2;
    score.base_nll = 1;
    score.kl = (100 - i) / 100.0;
    score.change = i % 2 == 0 ? 0.1 : -0.1;
    score.same_first = i < 50;
    s.add(score);
  }
  const double mean = (51 * 1 + 50 * 2) / 101.0;
  const double deviation = std::sqrt((51 * 1 + 50 * 4) / 101.0 - mean * mean);
  CHECK(s.n() == 101);
  CHECK(s.perplexity().value == doctest::Approx(std::exp(mean)));
  CHECK(s.perplexity().error == doctest::Approx(std::exp(mean) * deviation / 10));
  CHECK(s.base_perplexity().value == doctest::Approx(std::exp(1)));
  CHECK(s.base_perplexity().error == doctest::Approx(0));
  CHECK(s.log_ratio().value == doctest::Approx(mean - 1));
  CHECK(s.log_ratio().error == doctest::Approx(deviation / 10));
  CHECK(s.kl().value == doctest::Approx(0.5));
  CHECK(s.kl_quantile(0) == doctest::Approx(0));
  CHECK(s.kl_quantile(0.5) == doctest::Approx(0.5));
  CHECK(s.kl_quantile(0.905) == doctest::Approx(0.905));
  CHECK(s.kl_quantile(1) == doctest::Approx(1));
  CHECK(s.change().value == doctest::Approx(0.1 / 101));
  CHECK(s.change_rms().value == doctest::Approx(0.1));
  CHECK(s.change_rms().error == doctest::Approx(0));
  CHECK(s.same_first().value == doctest::Approx(50 / 101.0));
  CHECK(s.same_first().error == doctest::Approx(std::sqrt(50.0 * 51 / (101 * 101) / 100)));
}

}  // namespace puna::service
