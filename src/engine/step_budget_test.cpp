#include "engine/step_budget.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/common/step.h"

using puna::engine::StepBudget;

namespace {

// What steps cost on a device, in milliseconds: of prompts, and of the next token of each text.
struct Costs {
  double prompt_step, prompt_token, decode_step, decode_text;
};

struct Served {
  double tokens_per_s = 0;
  double first_ms = 0, gap_ms = 0;  // of 99 in 100
};

// Clients that ask again as soon as they are answered, with prompts of 84 tokens and answers of 64,
// in the scheduler's way: all next tokens, and of prompts what the budget says. Times vary by a
// tenth.
Served serve(size_t n_clients, const Costs& costs) {
  constexpr uint32_t kPrompt = 84, kAnswer = 64, kAnswers = 2000, kMostRows = 512;
  constexpr double kMostMs = 100;
  struct Text {
    uint32_t prompt = kPrompt, answer = kAnswer;
    double began = 0;
  };
  std::vector<Text> texts(n_clients);
  std::vector<double> firsts, gaps;
  StepBudget budget(0.05);
  uint32_t n_answered = 0, seed = 1;
  double now = 0;
  while (n_answered < kAnswers) {
    uint32_t n_beside = 0, n_left = 0, n_read = 0;
    for (const Text& text : texts) text.prompt == 0 ? ++n_beside : n_left += text.prompt;
    const double ms =
        n_beside == 0 ? 0 : budget.stream_wait_ms(kMostMs, n_left) - budget.decode_ms();
    const uint32_t most = std::min(budget.tokens(ms), kMostRows - n_beside);
    std::vector<Text*> chosen;
    for (Text& text : texts) {
      const uint32_t n = std::min(most - n_read, text.prompt);
      if (text.prompt > 0 && n == 0) continue;
      text.prompt -= n;
      n_read += n;
      if (text.prompt == 0) chosen.push_back(&text);
    }
    seed = seed * 1664525 + 1013904223;
    const double varies = 0.95 + 0.1 * (seed >> 8) / (1 << 24);
    const double decode = n_beside == 0 ? 0 : costs.decode_step + costs.decode_text * n_beside;
    const double step =
        varies * (decode + (n_read == 0 ? 0 : costs.prompt_step + costs.prompt_token * n_read));
    now += step;
    if (n_beside > 0) gaps.push_back(step);
    if (n_read == 0)
      budget.decoded(step);
    else
      budget.read(n_read, budget.prompt_ms(step, n_beside), n_beside);
    for (Text* text : chosen) {
      if (text->answer == kAnswer) firsts.push_back(now - text->began);
      if (--text->answer > 0) continue;
      ++n_answered;
      *text = {.began = now};
    }
  }
  const auto most_of = [](std::vector<double>& values) {
    std::ranges::sort(values);
    return values[values.size() * 99 / 100];
  };
  return {n_answered * kAnswer * 1000 / now, most_of(firsts), most_of(gaps)};
}

}  // namespace

TEST_CASE("clients are served about as fast as if their prompts came together, with short gaps") {
  // A GPU, on which a few tokens of prompts cost what a hundred do. What there is to reach: all
  // prompts in steps of 512, then all answers.
  const Costs gpu = {10, 0.055, 3.6, 0.05};
  for (const size_t n : {2, 8, 32, 128}) {
    CAPTURE(n);
    const Served got = serve(n, gpu);
    const double tokens = 84.0 * static_cast<double>(n);
    const double together = std::ceil(tokens / 512) * gpu.prompt_step + tokens * gpu.prompt_token +
                            64 * (gpu.decode_step + gpu.decode_text * static_cast<double>(n));
    CHECK(got.tokens_per_s > 0.8 * 64'000.0 * static_cast<double>(n) / together);
    CHECK(got.gap_ms < 100);
    if (n <= 32) CHECK(got.first_ms < 250);
  }
  // A processor, on which tokens cost what they are.
  const Costs cpu = {2, 0.3, 6, 0.3};
  const Served got = serve(8, cpu);
  CHECK(got.tokens_per_s > 600);
  CHECK(got.gap_ms < 40);
  CHECK(got.first_ms < 200);
}

TEST_CASE("a step takes what runs in its time, from what earlier steps took") {
  StepBudget budget(1);
  CHECK(budget.tokens(100) == 96);
  CHECK(budget.tokens(0) == puna::kernels::kMaxStepTokens);
  CHECK(budget.tokens(1) == StepBudget::kLeast);
  CHECK(budget.tokens(1e9) == puna::kernels::kMaxStepTokens);
  CHECK(budget.tokens(1e9, 2048) == 2048);
  CHECK(budget.tokens(0, 2048) == 2048);
  CHECK(budget.tokens(1000, 2048) == 1000);
  CHECK_FALSE(budget.is_known());
  // A slow step counts fourfold at most, and fast ones by degrees.
  budget.read(10, 1000);
  CHECK(budget.is_known());
  CHECK(budget.tokens(400) == 96);
  for (int i = 0; i < 2000; ++i) budget.read(10, 1000);
  CHECK(budget.tokens(10100) == 96);
  budget.read(10, 500);
  CHECK(budget.tokens(7600) == 96);
  for (int i = 0; i < 2000; ++i) budget.read(100, 1);
  CHECK(budget.tokens(2.05) == 200);
}

TEST_CASE("a step leaves room for what steps of late took beyond what was expected") {
  StepBudget budget(4);
  budget.read(100, 100);  // a guess that was wrong is no delay
  for (int i = 0; i < 40; ++i) budget.read(100, 100);
  CHECK(budget.tokens(100) == 96);
  // One long step says little,
  budget.read(100, 300);
  for (int i = 0; i < 20; ++i) budget.read(100, 100);
  CHECK(budget.tokens(100) > 80);
  // every tenth a lot, but no more than twice what is expected.
  for (int i = 0; i < 100; ++i) {
    budget.read(100, 300);
    for (int k = 0; k < 9; ++k) budget.read(100, 100);
  }
  CHECK(budget.tokens(100) <= 56);
  CHECK(budget.tokens(100) >= 48);
  for (int i = 0; i < 2000; ++i) budget.read(100, 100);
  CHECK(budget.tokens(101) == 96);
}

TEST_CASE("what is decoded beside prompts does not make them dear") {
  StepBudget budget(1);
  CHECK(budget.prompt_ms(50, 0) == 50);
  CHECK(budget.prompt_ms(50, 8) == 50);
  budget.decoded(40);
  CHECK(budget.prompt_ms(50, 8) == 25);
  CHECK(budget.prompt_ms(100, 8) == 60);
  // Few tokens beside many others: no dearer, but perhaps cheaper.
  budget.read(8, 400, 128);
  CHECK(budget.tokens(100) == 96);
  budget.read(8, 4, 128);
  CHECK(budget.tokens(75) == 96);
  budget.read(128, 256, 128);
  for (int i = 0; i < 2000; ++i) budget.read(128, 256, 128);
  CHECK(budget.tokens(202) == 96);
}

TEST_CASE("what a step costs beside its tokens is told from steps of different sizes") {
  StepBudget budget(0.05);
  const auto read = [&](uint32_t n) { budget.read(n, 12 + 0.05 * n); };
  for (int i = 0; i < 4000; ++i) read(std::array{84u, 8u, 588u, 300u, 16u}[i % 5]);
  // (30 - 12) / 0.05, or a little less for what rounding takes for steps that were longer.
  CHECK(budget.tokens(30) <= 360);
  CHECK(budget.tokens(30) >= 300);
  CHECK(budget.tokens(12) == StepBudget::kLeast);
  // Prompts of 84 tokens are not spread over steps that cost as much each.
  CHECK(budget.stream_wait_ms(1000, 84) == doctest::Approx(144).epsilon(0.02));
  budget.decoded(4);
  CHECK(budget.expected_ms(100, 1) == doctest::Approx(21).epsilon(0.02));
  // Where all are of one size it is not known any more: no step is longer than by the tokens alone.
  for (int i = 0; i < 4000; ++i) read(100);
  CHECK(budget.tokens(34) <= 200);
  CHECK(budget.tokens(34) >= 176);
  CHECK(budget.stream_wait_ms(1000, 84) == 25);
  // Nor is it where times fall with the tokens.
  for (int i = 0; i < 4000; ++i) read(i % 2 == 0 ? 8 : 588);
  CHECK(budget.stream_wait_ms(1000, 84) == doctest::Approx(144).epsilon(0.02));
  for (int i = 0; i < 4000; ++i) budget.read(i % 2 == 0 ? 100 : 200, i % 2 == 0 ? 30 : 20);
  CHECK(budget.stream_wait_ms(1000, 84) == 25);
}

TEST_CASE("the time of a decode step is followed") {
  StepBudget budget(1);
  CHECK(budget.decode_ms() == 0);
  CHECK(budget.expected_ms(100, 1) == 0);
  budget.decoded(10);
  CHECK(budget.decode_ms() == 10);
  budget.decoded(1000);
  CHECK(budget.decode_ms() == 40);
  budget.decoded(10);
  CHECK(budget.decode_ms() == 25);
}

TEST_CASE("streams wait for a share of what prompts take, within bounds") {
  StepBudget budget(1);
  CHECK(budget.stream_wait_ms(100, 8) == 25);
  CHECK(budget.stream_wait_ms(100, 400) == 50);
  CHECK(budget.stream_wait_ms(100, 40000) == 100);
  CHECK(budget.stream_wait_ms(5, 400) == 5);
  budget.decoded(20);
  CHECK(budget.stream_wait_ms(5, 400) == 40);
  CHECK(budget.stream_wait_ms(100, 8) == 60);
  CHECK(budget.stream_wait_ms(100, 640) == 80);
}
