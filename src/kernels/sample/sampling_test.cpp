#include "kernels/sample/sampling.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "kernels/common/call.h"
#include "kernels/sample/arithmetic.h"

namespace puna::kernels {
namespace {

std::string refusal(const SamplingParams& params) {
  const auto checked = check(params);
  return checked ? "" : checked.error().message;
}

TEST_CASE("parameters outside their range are refused with the value and the range") {
  CHECK(refusal({}).empty());
  CHECK(refusal({.temperature = -1}) == "The temperature is -1, but 0 to 100 is expected.");
  CHECK(refusal({.temperature = NAN}) == "The temperature is nan, but 0 to 100 is expected.");
  CHECK(refusal({.top_p = 1.5f}) == "top-p is 1.5, but 0 to 1 is expected.");
  CHECK(refusal({.min_p = -0.5f}) == "min-p is -0.5, but 0 to 1 is expected.");
  CHECK(refusal({.repeat_penalty = 0}) == "The repeat penalty is 0, but 0.01 to 100 is expected.");
  CHECK(refusal({.presence_penalty = -101}) ==
        "The presence penalty is -101, but -100 to 100 is expected.");
  CHECK(refusal({.frequency_penalty = INFINITY}) ==
        "The frequency penalty is inf, but -100 to 100 is expected.");
  CHECK(refusal({.logit_bias = {{3, -INFINITY}, {4, 5}}}).empty());
  CHECK(refusal({.logit_bias = {{-3, 1}}}) == "The logit bias of token -3 names no token.");
  CHECK(refusal({.logit_bias = {{3, NAN}}}) ==
        "The logit bias of token 3 is nan, but -inf or -1000000 to 1000000 is expected.");
  CHECK(refusal({.logit_bias = {{3, 1}, {4, 1}, {3, 2}}}) ==
        "Token 3 is given a logit bias more than once.");
  SamplingParams many;
  for (int32_t id = 0; id <= static_cast<int32_t>(kMaxLogitBias); ++id)
    many.logit_bias.emplace_back(id, 1.0f);
  CHECK(refusal(many) == "1025 tokens have a logit bias, but at most 1024 can have one.");
}

TEST_CASE("more probabilities than are given are refused") {
  CHECK(refusal({.n_probs = kMaxProbs}).empty());
  CHECK(refusal({.n_probs = 129}) ==
        "The probabilities of 129 tokens are asked for, but at most 128 are given.");
}

TEST_CASE("what is off is off in the row that devices read") {
  SamplingParams off;
  off.top_k = 0;
  off.top_p = 1;
  off.min_p = 0;
  const SampleRow row = sample_row(off);
  CHECK(!row.cuts(1000));
  CHECK(row.log_min_p == -INFINITY);
  CHECK(row.window == 0);
  off.top_k = 1000;
  CHECK(!sample_row(off).cuts(1000));
  CHECK(sample_row(off).cuts(1001));
  off.temperature = 0;
  CHECK(!sample_row(off).cuts(1001));
  off.temperature = 1e-38f;
  CHECK(std::isfinite(sample_row(off).scale));
}

TEST_CASE("arithmetic.wgsl has the words of SampleRow where they are") {
  const std::string wgsl(wgsl_source("sample/arithmetic.wgsl"));
  const auto word = [&](const char* name, size_t offset) {
    CHECK(wgsl.find("const " + std::string(name) + " = " + std::to_string(offset / 4) + "u;") !=
          std::string::npos);
  };
  word("ROW_WORDS", sizeof(SampleRow));
  word("ROW_SCALE", offsetof(SampleRow, scale));
  word("ROW_TOP_K", offsetof(SampleRow, top_k));
  word("ROW_TOP_P", offsetof(SampleRow, top_p));
  word("ROW_LOG_MIN_P", offsetof(SampleRow, log_min_p));
  word("ROW_REPEAT", offsetof(SampleRow, repeat));
  word("ROW_REPEAT_INVERSE", offsetof(SampleRow, repeat_inverse));
  word("ROW_FREQUENCY", offsetof(SampleRow, frequency));
  word("ROW_PRESENCE", offsetof(SampleRow, presence));
  word("ROW_WINDOW", offsetof(SampleRow, window));
  word("ROW_BIAS_COUNT", offsetof(SampleRow, n_bias));
  word("ROW_SEED_LOW", offsetof(SampleRow, seed_low));
  word("ROW_SEED_HIGH", offsetof(SampleRow, seed_high));
  word("ROW_ZERO", offsetof(SampleRow, zero));
  word("ROW_FILTERED", offsetof(SampleRow, filtered));
}

TEST_CASE("Philox gives the words that its authors publish") {
  using Words = std::array<uint32_t, 4>;
  CHECK(sampling::philox({0, 0, 0, 0}, 0, 0) ==
        Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(sampling::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822,
                         0x299f31d0) == Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("integer logarithms, powers and noise are right to a few units in the last place") {
  double worst_log = 0, worst_power = 0, worst_noise = 0;
  for (uint64_t i = 1; i < 2'000'000; ++i) {
    // Odd multiples reach every octave.
    const auto x = static_cast<uint32_t>(i * 2654435761u) >> (i % 32);
    if (x > 0) {
      worst_log = std::max(
          worst_log, std::fabs(sampling::log2_q24(x) - std::log2(static_cast<double>(x)) * 0x1p24));
    }
    const uint32_t t = static_cast<uint32_t>(i) * 14;  // to 2^-26
    worst_power =
        std::max(worst_power, std::fabs(sampling::exp2_q26(t) - std::exp2(26 - t * 0x1p-20)));
    const uint32_t r = i % 2 == 0 ? x : ~x;
    const double exact = -std::log2(-std::log1p(-(r + 0.5) * 0x1p-32)) * 0x1p24;
    worst_noise = std::max(worst_noise, std::fabs(sampling::gumbel_q24(r) - exact));
  }
  CHECK(worst_log < 3);
  CHECK(worst_power < 8);
  CHECK(worst_noise < 5);
}

}  // namespace
}  // namespace puna::kernels
