// Each stage of a choice by its definition, over distributions that are small enough to count; and
// all of them, in any order, against the plain form.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <set>

#include "kernels/common/test_util.h"
#include "kernels/sample/mirostat.h"
#include "kernels/sample/sample_cases.h"
#include "kernels/sample/sample_cpu.h"
#include "kernels/sample/sample_ref.h"

namespace puna::kernels {
namespace {

SamplingParams plain(float temperature = 1) {
  SamplingParams p;
  p.temperature = temperature;
  p.top_k = 0;
  p.top_p = 1;
  p.min_p = 0;
  return p;
}

std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> out;
  for (const double p : probabilities) out.push_back(static_cast<float>(std::log(p)));
  return out;
}

// What is drawn within n draws.
std::set<int32_t> drawn(const SamplingParams& params, const std::vector<float>& logits,
                        uint32_t n = 2000, const std::vector<int32_t>& text = {}) {
  CpuSampler sampler;
  std::set<int32_t> out;
  for (uint32_t i = 0; i < n; ++i) out.insert(sampler.sample(params, logits, text, i));
  return out;
}

using Ids = std::set<int32_t>;

TEST_CASE("top-n-sigma keeps what is within n standard deviations of the largest") {
  auto params = plain(20);
  params.top_n_sigma = 1;
  // Mean 3, deviation 2: down to 4.
  CHECK(drawn(params, {6, 4.5f, 3, 0, 3, 1.5f}) == Ids{0, 1});
  CHECK(drawn(params, {6, 4.5f, -INFINITY, 3, 0, 3, 1.5f}) == Ids{0, 1});  // counts finite ones
  params.top_n_sigma = 1.6f;
  CHECK(drawn(params, {6, 4.5f, 3, 0, 3, 1.5f}) == Ids{0, 1, 2, 4});
}

TEST_CASE("typical-p keeps what is as surprising as is usual, not what is most probable") {
  // Surprises in nats 0.92, 1.20, 1.61, 2.30; their mean 1.28: the second is nearest, then the
  // third, then the first.
  auto params = plain();
  const auto logits = logs({0.4, 0.3, 0.2, 0.1});
  params.typical_p = 0.25f;
  CHECK(drawn(params, logits) == Ids{1});
  params.typical_p = 0.45f;
  CHECK(drawn(params, logits) == Ids{1, 2});
  params.typical_p = 0.85f;
  CHECK(drawn(params, logits) == Ids{0, 1, 2});
  params.typical_p = 0;
  CHECK(drawn(params, logits) == Ids{1});
}

TEST_CASE("XTC drops all top choices but the least probable one, as often as it is asked to") {
  auto params = plain();
  params.xtc_probability = 1;
  params.xtc_threshold = 0.15f;
  const auto logits = logs({0.4, 0.3, 0.2, 0.1});
  CHECK(drawn(params, logits) == Ids{2, 3});
  params.xtc_threshold = 0.35f;  // one top choice stays
  CHECK(drawn(params, logits) == Ids{0, 1, 2, 3});
  params.xtc_threshold = 0.15f;
  params.temperature = 0;
  CHECK(drawn(params, logits) == Ids{2});
  params.xtc_probability = 0.3f;
  CpuSampler sampler;
  int n_top = 0;
  for (uint32_t i = 0; i < 10'000; ++i) n_top += sampler.sample(params, logits, {}, i) == 0;
  CHECK(n_top == doctest::Approx(7000).epsilon(0.03));
}

TEST_CASE("DRY lowers what would go on with a repetition") {
  auto params = plain(0);
  params.dry = {.multiplier = 1, .base = 2, .allowed_length = 2, .last = 64};
  const std::vector<int32_t> text = {1, 2, 3, 0, 1, 2, 3};  // 0 falls by 2
  CHECK(drawn(params, {5, 3.5f, 1, 1}, 1, text) == Ids{1});
  CHECK(drawn(params, {5, 2.5f, 1, 1}, 1, text) == Ids{0});
}

TEST_CASE("dynamic temperature follows the entropy of what is left") {
  auto params = plain(1);
  params.dynatemp_range = 0.5f;
  const auto at = [&](const std::vector<double>& p) {
    std::vector<uint32_t> keys;
    for (const float l : logs(p)) keys.push_back(sampling::order_key(l));
    return sampling::dynamic_temperature(params, sampling::Surprises(keys));
  };
  CHECK(at({0.25, 0.25, 0.25, 0.25}) == doctest::Approx(1.5));
  const double entropy = -(0.7 * std::log2(0.7) + 0.2 * std::log2(0.2) + 0.1 * std::log2(0.1));
  const double share = entropy / std::log2(3);
  CHECK(at({0.7, 0.2, 0.1}) == doctest::Approx(0.5 + share).epsilon(1e-5));
  params.dynatemp_exponent = 2.5f;
  CHECK(at({0.7, 0.2, 0.1}) == doctest::Approx(0.5 + std::pow(share, 2.5)).epsilon(1e-5));
  params.dynatemp_range = 3;  // not below 0
  CHECK(at({1 - 1e-9, 1e-9}) == doctest::Approx(0).epsilon(1e-3));
}

TEST_CASE("mirostat 2 keeps tokens of at most mu bits, and moves mu by what was drawn") {
  auto params = plain();
  params.mirostat = {.version = 2, .tau = 1.5f, .eta = 0.5f};
  const auto logits = logs({0.5, 0.25, 0.125, 0.125});  // 1, 2, 3 and 3 bits
  CHECK(drawn(params, logits) == Ids{0, 1, 2, 3});      // mu = 3
  SamplerState state{.mirostat_mu = 2.5f};
  CpuSampler sampler;
  const int32_t id = sampler.sample(params, logits, {}, 0, {}, &state);
  // Of two thirds and one third.
  const double surprise = id == 0 ? std::log2(1.5) : std::log2(3);
  CHECK(*state.mirostat_mu == doctest::Approx(2.5 - 0.5 * (surprise - 1.5)));
  state.mirostat_mu = -4;  // one stays
  CHECK(sampler.sample(params, logits, {}, 1, {}, &state) == 0);
  CHECK(*state.mirostat_mu == doctest::Approx(-4 + 0.5 * 1.5));
}

TEST_CASE("mirostat brings the surprise of a text near what is asked for") {
  std::vector<float> logits(2000);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = -1.1f * static_cast<float>(std::log(static_cast<double>(i) + 1));  // Zipf's law
  for (const uint32_t version : {1u, 2u}) {
    for (const float tau : {2.0f, 4.0f}) {
      CAPTURE(version);
      CAPTURE(tau);
      auto params = plain();
      params.mirostat = {.version = version, .tau = tau, .eta = 0.1f};
      SamplerState state;
      CpuSampler sampler;
      double sum = 0;
      constexpr uint32_t kBefore = 500, kDraws = 3000;
      for (uint32_t i = 0; i < kBefore + kDraws; ++i) {
        const float mu = state.mirostat_mu.value_or(2 * tau);
        (void)sampler.sample(params, logits, {}, i, {}, &state);
        // The surprise is what moved mu.
        if (i >= kBefore) sum += tau - (*state.mirostat_mu - mu) / params.mirostat.eta;
      }
      CHECK(sum / kDraws == doctest::Approx(tau).epsilon(0.03));
    }
  }
}

TEST_CASE("the order of the stages is the one that is asked for, and what is left out is off") {
  auto params = plain(0);
  params.logit_bias = {};
  params.repeat_penalty = 2;
  params.top_k = 1;
  const std::vector<float> logits = {3, 2, 1};
  CHECK(drawn(params, logits, 1, {0}) == Ids{1});
  params.samplers = {Sampler::kTopK, Sampler::kPenalties, Sampler::kTemperature};
  CHECK(drawn(params, logits, 1, {0}) == Ids{0});
  params.samplers = {Sampler::kTopK, Sampler::kTemperature};
  CHECK(drawn(params, logits, 1, {0}) == Ids{0});
  // A high temperature before top-p keeps more.
  params = plain(4);
  params.top_p = 0.7f;
  const auto probabilities = logs({0.7, 0.2, 0.07, 0.03});
  CHECK(drawn(params, probabilities).size() == 1);
  params.samplers = {Sampler::kTemperature, Sampler::kTopP};
  CHECK(drawn(params, probabilities).size() == 3);
  params = plain(50);  // no temperature: softmax as it is
  params.samplers = {Sampler::kMinP};
  params.min_p = 0.5f;
  CHECK(drawn(params, probabilities) == Ids{0});
  params.samplers = {};
  CHECK(drawn(params, logs({1 - 1e-9, 1e-9}), 100) == Ids{0});
}

uint32_t below(std::mt19937& random, uint32_t end) { return static_cast<uint32_t>(random() % end); }

// Any parameters in any order.
SamplingParams random_params(std::mt19937& random) {
  const auto chance = [&](int of) { return random() % static_cast<unsigned>(of) == 0; };
  const auto real = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(random() % 1000) / 1000;
  };
  SamplingParams p = plain(chance(6) ? 0 : real(0.2f, 3));
  p.seed = random();
  if (chance(2)) p.top_k = 1 + below(random, 60);
  if (chance(2)) p.top_p = real(0, 1);
  if (chance(3)) p.min_p = real(0, 0.3f);
  if (chance(3)) p.typical_p = real(0, 1);
  if (chance(3)) p.top_n_sigma = real(0, 3);
  if (chance(3)) p.xtc_probability = real(0, 1.2f) > 1 ? 1 : real(0, 1);
  p.xtc_threshold = real(0, 0.6f);
  if (chance(3)) p.dynatemp_range = real(0, 2);
  p.dynatemp_exponent = real(0, 3);
  if (chance(3)) p.repeat_penalty = real(0.5f, 2), p.frequency_penalty = real(-1, 1);
  if (chance(3)) p.dry = {real(0, 3), real(1, 2), below(random, 3), 200, {{3}}};
  if (chance(4)) p.mirostat = {2, real(0, 6), real(0, 1)};
  if (chance(3)) p.logit_bias = {{0, -INFINITY}, {1, real(-5, 5)}};
  std::ranges::shuffle(p.samplers, random);
  if (chance(3)) p.samplers.resize(random() % p.samplers.size());
  return p;
}

TEST_CASE("any stages in any order choose as the plain form does, and what is allowed only") {
  std::mt19937 random(11);
  CpuSampler sampler;
  for (int i = 0; i < 6000; ++i) {
    CAPTURE(i);
    const SamplingParams params = random_params(random);
    REQUIRE(check(params));
    const uint32_t vocab = 2 + below(random, i % 10 == 0 ? 3000 : 90);
    auto logits = test::normal(vocab, below(random, 1000), 0.5f + static_cast<float>(random() % 5));
    if (i % 3 == 0) {  // many equal
      for (float& l : logits) l = std::round(l);
    }
    if (i % 7 == 0) logits[random() % vocab] = -INFINITY;
    std::vector<uint32_t> allowed;
    if (i % 5 == 0) {
      allowed.resize((vocab + 31) / 32);
      for (uint32_t& word : allowed) word = static_cast<uint32_t>(random());
    }
    const auto text =
        test::sampling_text(std::min(vocab, 6u), below(random, 150), below(random, 1000));
    const uint32_t position = below(random, 1000);
    SamplerState mine, plain_form;
    if (i % 2 == 0) mine.mirostat_mu = plain_form.mirostat_mu = 4;
    const int32_t id = sampler.sample(params, logits, text, position, allowed, &mine);
    REQUIRE(id == sample_ref(params, logits, text, position, allowed, &plain_form));
    REQUIRE(mine.mirostat_mu == plain_form.mirostat_mu);
    if (id == kNoToken || allowed.empty()) continue;
    CHECK((allowed[static_cast<size_t>(id) / 32] >> id % 32 & 1) == 1);
  }
}

}  // namespace
}  // namespace puna::kernels
