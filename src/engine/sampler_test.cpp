#include "engine/sampler.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

using namespace puna::engine;

namespace {

SamplingParams plain(float temperature) {
  SamplingParams p;
  p.temperature = temperature;
  p.top_k = 0;
  p.top_p = 1;
  p.min_p = 0;
  return p;
}

std::map<int, int> histogram(const SamplingParams& params, const std::vector<float>& logits,
                             int n) {
  Sampler sampler(params);
  std::map<int, int> counts;
  for (int i = 0; i < n; ++i) ++counts[sampler.sample(logits, {})];
  return counts;
}

}  // namespace

TEST_CASE("temperature 0 takes the largest logit, the lowest id among equals") {
  Sampler sampler(plain(0));
  CHECK(sampler.sample(std::vector<float>{1, 5, 5, -2}, {}) == 1);
  CHECK(sampler.sample(std::vector<float>{NAN, -3, -2, NAN}, {}) == 2);
}

TEST_CASE("draws follow the softmax: chi-square over 10,000 draws") {
  const std::vector<float> logits = {0.0f, 1.0f, 2.0f, -1.0f, 0.5f};
  double total = 0;
  for (float l : logits) total += std::exp(l / 0.7);
  auto params = plain(0.7f);
  params.seed = 42;
  auto counts = histogram(params, logits, 10000);
  double chi2 = 0;
  for (int i = 0; i < 5; ++i) {
    const double expected = 10000 * std::exp(logits[static_cast<size_t>(i)] / 0.7) / total;
    chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  CHECK(chi2 < 18.47);  // 4 degrees of freedom, p = 0.001
}

TEST_CASE("the same seed gives the same draws, another seed others") {
  const std::vector<float> logits(50, 0.0f);
  auto params = plain(1);
  params.seed = 7;
  Sampler a(params), b(params);
  params.seed = 8;
  Sampler c(params);
  int same = 0;
  for (int i = 0; i < 100; ++i) {
    const int32_t x = a.sample(logits, {});
    CHECK(x == b.sample(logits, {}));
    same += x == c.sample(logits, {});
  }
  CHECK(same < 20);
}

TEST_CASE("top-k, top-p and min-p drop what they say") {
  const std::vector<float> logits = {3.0f, 2.0f, 1.0f,
                                     0.0f};  // probabilities 0.64, 0.24, 0.09, 0.03
  auto params = plain(1);
  params.top_k = 2;
  for (auto [id, n] : histogram(params, logits, 1000)) CHECK(id < 2);
  params = plain(1);
  params.top_p = 0.7f;  // 0.64 is not enough, 0.88 is
  CHECK(histogram(params, logits, 1000).size() == 2);
  params.top_p = 0.5f;
  CHECK(histogram(params, logits, 1000).size() == 1);
  params = plain(1);
  params.min_p = 0.1f;  // of 0.64: drops 0.03
  CHECK(histogram(params, logits, 3000).size() == 3);
}

TEST_CASE("the repeat penalty lowers recent tokens, whatever their sign") {
  auto params = plain(0);
  params.repeat_penalty = 2;
  Sampler sampler(params);
  const int32_t recent[] = {0, 0};
  CHECK(sampler.sample(std::vector<float>{3, 2, 1}, recent) == 1);
  CHECK(sampler.sample(std::vector<float>{-1, -1.5f, -3}, recent) == 1);
}

TEST_CASE("impossible values are refused by name") {
  auto params = plain(-1);
  CHECK(check(params).error().message == "The temperature is -1, but 0 to 100 is expected.");
  params = plain(1);
  params.top_p = NAN;
  CHECK(!check(params).has_value());
}
