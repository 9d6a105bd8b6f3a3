// CpuSampler against sample_ref.h, and both against what probability says.
#include "kernels/sample/sample_cpu.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "kernels/common/test_util.h"
#include "kernels/sample/sample_cases.h"
#include "kernels/sample/sample_ref.h"

namespace puna::kernels {
namespace {

SamplingParams plain(float temperature) {
  SamplingParams p;
  p.temperature = temperature;
  p.top_k = 0;
  p.top_p = 1;
  p.min_p = 0;
  return p;
}

SamplingParams with_defaults(float temperature) {
  SamplingParams p;
  p.temperature = temperature;
  return p;
}

std::map<int32_t, int> histogram(const SamplingParams& params, const std::vector<float>& logits,
                                 uint32_t n) {
  CpuSampler sampler;
  std::map<int32_t, int> counts;
  for (uint32_t i = 0; i < n; ++i) ++counts[sampler.sample(params, logits, {}, i)];
  return counts;
}

int32_t one(const SamplingParams& params, const std::vector<float>& logits,
            const std::vector<int32_t>& text = {}) {
  return CpuSampler().sample(params, logits, text, 7);
}

TEST_CASE("the CPU chooses as the plain form does, for every set of parameters") {
  CpuSampler sampler;
  for (const uint32_t vocab : {1u, 2u, 5u, 97u, 1000u, 5003u}) {
    const auto cases = test::sampling_cases(vocab);
    for (size_t i = 0; i < cases.size(); ++i) {
      CAPTURE(vocab);
      CAPTURE(i);
      for (uint32_t draw = 0; draw < 4; ++draw) {
        const auto logits = test::normal(vocab, vocab + draw, 4.0f);
        const auto text = test::sampling_text(vocab, 300, draw);
        CHECK(sampler.sample(cases[i], logits, text, draw) ==
              sample_ref(cases[i], logits, text, draw));
      }
    }
  }
}

TEST_CASE("draws follow the softmax: chi-square over 100,000 draws of 64 tokens") {
  const auto logits = test::normal(64, 5, 1.5f);
  for (const float temperature : {0.6f, 1.0f, 3.0f}) {
    auto params = plain(temperature);
    params.seed = 42;
    double total = 0;
    for (float l : logits) total += std::exp(l / temperature);
    constexpr uint32_t kDraws = 100'000;
    auto counts = histogram(params, logits, kDraws);
    double chi2 = 0, rare = 0, rare_expected = 0;
    int cells = 0;
    for (int32_t i = 0; i < 64; ++i) {
      const double expected =
          kDraws * std::exp(logits[static_cast<size_t>(i)] / temperature) / total;
      if (expected < 10) {  // together one cell
        rare += counts[i];
        rare_expected += expected;
        continue;
      }
      chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
      ++cells;
    }
    if (rare_expected > 0) chi2 += (rare - rare_expected) * (rare - rare_expected) / rare_expected;
    // Wilson and Hilferty's approximation of the 99.9 % quantile.
    const double k = cells;
    CHECK(chi2 < k * std::pow(1 - 2 / (9 * k) + 3.09 * std::sqrt(2 / (9 * k)), 3));
  }
}

TEST_CASE("draws of neighbouring positions and seeds do not depend on each other") {
  const std::vector<float> logits(16, 0.0f);
  auto params = plain(1);
  CpuSampler sampler;
  constexpr int kDraws = 40'000;
  for (const bool by_seed : {false, true}) {
    std::vector<double> pairs(256);
    int32_t last = 0;
    for (int i = 0; i < kDraws; ++i) {
      params.seed = by_seed ? static_cast<uint64_t>(i) : 3;
      const int32_t id = sampler.sample(params, logits, {}, by_seed ? 9 : static_cast<uint32_t>(i));
      ++pairs[static_cast<size_t>(last) * 16 + static_cast<size_t>(id)];
      last = id;
    }
    double chi2 = 0;
    const double expected = kDraws / 256.0;
    for (double n : pairs) chi2 += (n - expected) * (n - expected) / expected;
    CHECK(chi2 < 330.5);  // 255 degrees of freedom, p = 0.001
  }
}

TEST_CASE("the same seed gives the same draws, another seed others") {
  const std::vector<float> logits(50, 0.0f);
  auto params = plain(1);
  params.seed = 7;
  CpuSampler a, b;
  auto other = params;
  other.seed = 7 + (uint64_t{1} << 32);
  int same = 0;
  for (uint32_t i = 0; i < 100; ++i) {
    const int32_t x = a.sample(params, logits, {}, i);
    CHECK(x == b.sample(params, logits, {}, i));
    same += x == b.sample(other, logits, {}, i);
  }
  CHECK(same < 20);
}

TEST_CASE("top-k, top-p and min-p drop what they say") {
  const std::vector<float> logits = {3, 2, 1, 0};  // probabilities 0.64, 0.24, 0.09, 0.03
  auto params = plain(1);
  params.top_k = 2;
  CHECK(histogram(params, logits, 1000).size() == 2);
  params = plain(1);
  params.top_p = 0.7f;  // 0.64 is not enough, 0.88 is
  CHECK(histogram(params, logits, 1000).size() == 2);
  params.top_p = 0.5f;
  CHECK(histogram(params, logits, 1000).size() == 1);
  params.top_p = 0;
  CHECK(histogram(params, logits, 1000).size() == 1);
  params = plain(1);
  params.min_p = 0.1f;  // of 0.64: drops 0.03
  CHECK(histogram(params, logits, 3000).size() == 3);
  params = plain(3);  // top-p counts what top-k leaves, at temperature 1
  params.top_k = 2;
  params.top_p = 0.72f;
  CHECK(histogram(params, logits, 1000).size() == 1);
  params.top_p = 0.74f;
  CHECK(histogram(params, logits, 1000).size() == 2);
}

TEST_CASE("tokens of equal logits stay or go together") {
  const std::vector<float> logits = {1, 2, 2, 2, 0};
  auto params = plain(1);
  params.top_k = 2;
  CHECK(histogram(params, logits, 1000).size() == 3);
  params = plain(1);
  params.top_p = 0.3f;
  CHECK(histogram(params, logits, 1000).size() == 3);
}

TEST_CASE("temperature 0 takes the largest logit, the lowest id among equals") {
  CHECK(one(plain(0), {1, 5, 5, -2}) == 1);
  CHECK(one(plain(0), {-0.0f, 0.0f}) == 0);
  CHECK(one(plain(0), {-INFINITY, -3, -INFINITY, -2}) == 3);
}

TEST_CASE("nothing is chosen where a logit is NaN or +inf, or all are -inf") {
  for (const float temperature : {0.0f, 1.0f}) {
    auto params = plain(temperature);
    auto biased = params;
    biased.logit_bias = {{1, 2.0f}};
    biased.presence_penalty = 1;
    for (const auto& p : {params, biased, with_defaults(temperature)}) {
      for (const std::vector<float>& logits : {std::vector<float>{NAN, NAN, NAN},
                                               {1, NAN, 2},
                                               {1, 2, -NAN},
                                               {NAN, -INFINITY, 3},
                                               {100, INFINITY, 0},
                                               {-INFINITY, -INFINITY, -INFINITY}}) {
        CHECK(one(p, logits, {0, 1}) == kNoToken);
        CHECK(sample_ref(p, logits, std::vector<int32_t>{0, 1}, 7) == kNoToken);
        CHECK(!can_choose(logits));
      }
      for (const std::vector<float>& logits : {std::vector<float>{-INFINITY, 4, -INFINITY},
                                               {-3e38f, 3e38f, -INFINITY},
                                               {-1, 40, -1}}) {
        CHECK(one(p, logits, {0, 2}) == 1);
        CHECK(can_choose(logits));
      }
    }
    params.logit_bias = {{0, -INFINITY}, {1, -INFINITY}};
    CHECK(one(params, {1, 2}) == kNoToken);
  }
}

TEST_CASE("penalties lower recent tokens by their definitions") {
  auto params = plain(0);
  params.repeat_penalty = 2;
  CHECK(one(params, {3, 2, 1}, {0, 0}) == 1);
  CHECK(one(params, {-1, -1.5f, -3}, {0}) == 1);
  CHECK(one(params, {3, 2, 1}, {1}) == 0);
  params = plain(0);
  params.presence_penalty = 0.4f;  // once, however often
  CHECK(one(params, {3, 2.5f}, {0, 0, 0}) == 0);
  params.presence_penalty = 0.6f;
  CHECK(one(params, {3, 2.5f}, {0}) == 1);
  params = plain(0);
  params.frequency_penalty = 0.2f;  // for each time
  CHECK(one(params, {3, 2.5f}, {0, 0}) == 0);
  CHECK(one(params, {3, 2.5f}, {0, 0, 0}) == 1);
  params.repeat_last = 2;  // looks back no further
  CHECK(one(params, {3, 2.5f}, {0, 0, 0}) == 0);
  params.repeat_last = 0;
  CHECK(one(params, {3, 2.5f}, {0, 0, 0, 0, 0, 0}) == 0);
}

TEST_CASE("a logit bias is added before penalties, and -inf forbids a token") {
  auto params = plain(0);
  params.logit_bias = {{1, 1.5f}};
  CHECK(one(params, {3, 2}) == 1);
  params.repeat_penalty = 2;  // (2 + 1.5) / 2 < 3
  CHECK(one(params, {3, 2}, {1}) == 0);
  params = plain(1);
  params.logit_bias = {{0, -INFINITY}, {2, -INFINITY}};
  CHECK(histogram(params, {9, 1, 9}, 200).size() == 1);
}

}  // namespace
}  // namespace puna::kernels
