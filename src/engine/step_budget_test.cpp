#include "engine/step_budget.h"

#include <doctest/doctest.h>

#include <array>

#include "kernels/common/step.h"

using puna::engine::StepBudget;

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
  CHECK(budget.stream_wait_ms(100, 84) == doctest::Approx(48).epsilon(0.02));
  budget.decoded(4);
  CHECK(budget.expected_ms(100, 1) == doctest::Approx(21).epsilon(0.02));
  // Where all are of one size it is not known any more: no step is longer than by the tokens alone.
  for (int i = 0; i < 4000; ++i) read(100);
  CHECK(budget.tokens(34) <= 200);
  CHECK(budget.tokens(34) >= 176);
  CHECK(budget.stream_wait_ms(100, 84) == 25);
  // Nor is it where times fall with the tokens.
  for (int i = 0; i < 4000; ++i) read(i % 2 == 0 ? 8 : 588);
  CHECK(budget.stream_wait_ms(100, 84) == doctest::Approx(48).epsilon(0.02));
  for (int i = 0; i < 4000; ++i) budget.read(i % 2 == 0 ? 100 : 200, i % 2 == 0 ? 30 : 20);
  CHECK(budget.stream_wait_ms(100, 84) == 25);
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
