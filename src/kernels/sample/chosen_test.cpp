#include "kernels/sample/chosen.h"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/common/test_util.h"
#include "kernels/sample/sample_cpu.h"

namespace puna::kernels {
namespace {

TEST_CASE("probabilities are those of the model, whatever the samplers make of them") {
  SamplingParams params;
  params.n_probs = 3;
  params.temperature = 0.1f;
  params.top_k = 1;
  params.logit_bias = {{2, 50.0f}, {1, -INFINITY}};
  const std::vector<float> logits = {0, 3, 1, 2, -INFINITY};
  const Chosen chosen = CpuSampler().choose(params, logits, {}, 0);
  CHECK(chosen.id == 2);
  const double sum = 1 + std::exp(3.0) + std::exp(1.0) + std::exp(2.0);
  REQUIRE(chosen.logprob);
  CHECK(*chosen.logprob == doctest::Approx(1 - std::log(sum)));
  REQUIRE(chosen.top.size() == 3);
  CHECK(chosen.top[0].id == 1);
  CHECK(chosen.top[0].logprob == doctest::Approx(3 - std::log(sum)));
  CHECK(chosen.top[1].id == 3);
  CHECK(chosen.top[2].id == 2);
  CHECK(chosen.top[2].logprob == *chosen.logprob);
}

TEST_CASE("probabilities of a vocabulary sum to 1, and the lower id comes first among equals") {
  const auto logits = test::normal(100, 3, 5.0f);
  Chosen chosen{.id = 7, .logprob = {}, .top = {}};
  add_logprobs(logits, 128, chosen);
  REQUIRE(chosen.top.size() == 100);
  double sum = 0;
  for (const TokenLogprob& t : chosen.top) sum += std::exp(t.logprob);
  CHECK(sum == doctest::Approx(1));
  Chosen equal{.id = 0, .logprob = {}, .top = {}};
  add_logprobs(std::vector<float>{1, 2, 2, 1}, 3, equal);
  CHECK(equal.top[0].id == 1);
  CHECK(equal.top[1].id == 2);
  CHECK(equal.top[2].id == 0);
}

TEST_CASE("what is not asked for, or where nothing can be chosen, has no probabilities") {
  SamplingParams params;
  CHECK_FALSE(CpuSampler().choose(params, std::vector<float>{1, 2}, {}, 0).logprob);
  params.n_probs = 2;
  const Chosen none = CpuSampler().choose(params, std::vector<float>{1, NAN}, {}, 0);
  CHECK(none.id == kNoToken);
  CHECK_FALSE(none.logprob);
  CHECK(none.top.empty());
}

}  // namespace
}  // namespace puna::kernels
