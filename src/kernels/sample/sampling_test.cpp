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

TEST_CASE("every sampler's parameters have a range, and the refusal names them") {
  CHECK(refusal({.typical_p = 2}) == "typical-p is 2, but 0 to 1 is expected.");
  CHECK(refusal({.top_n_sigma = -1}) == "top-n-sigma is -1, but 0 to 100 is expected.");
  CHECK(refusal({.xtc_probability = 1.5f}) ==
        "The XTC probability is 1.5, but 0 to 1 is expected.");
  CHECK(refusal({.xtc_threshold = NAN}) == "The XTC threshold is nan, but 0 to 1 is expected.");
  CHECK(refusal({.dynatemp_range = -1}) ==
        "The dynamic temperature range is -1, but 0 to 100 is expected.");
  CHECK(refusal({.dynatemp_exponent = 101}) ==
        "The dynamic temperature exponent is 101, but 0 to 100 is expected.");
  CHECK(refusal({.dry = {.multiplier = -1}}) ==
        "The DRY multiplier is -1, but 0 to 100 is expected.");
  CHECK(refusal({.dry = {.base = 0.5f}}) == "The DRY base is 0.5, but 1 to 100 is expected.");
  CHECK(refusal({.dry = {.breakers = {{1}, {}}}}) == "A DRY sequence breaker has no tokens.");
  CHECK(refusal({.dry = {.breakers = std::vector<std::vector<int32_t>>(257, {1, 2})}}) ==
        "There are 257 DRY sequence breakers of up to 2 tokens, but at most 256 of up to 256 are "
        "expected.");
  CHECK(refusal({.mirostat = {.version = 3}}) ==
        "The version of mirostat is 3, but 0 (off), 1 or 2 is expected.");
  CHECK(refusal({.mirostat = {.tau = -1}}) == "The mirostat tau is -1, but 0 to 100 is expected.");
  CHECK(refusal({.mirostat = {.eta = 11}}) == "The mirostat eta is 11, but 0 to 10 is expected.");
  CHECK(refusal({.samplers = {Sampler::kTopK, Sampler::kXtc, Sampler::kTopK}}) ==
        "The sampler top_k is in the order more than once.");
}

TEST_CASE("samplers have llama.cpp's names") {
  std::string order;
  for (const Sampler sampler : usual_samplers()) {
    order += std::string(name(sampler)) + ";";
    CHECK(sampler_named(name(sampler)) == sampler);
  }
  CHECK(order == "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature;");
  CHECK_FALSE(sampler_named("top-k"));
}

TEST_CASE("what GPUs do themselves in their order stays there, all else comes to the host") {
  const auto on_host = [](auto change) {
    SamplingParams params;
    change(params);
    return params.on_host();
  };
  using P = SamplingParams;
  using enum Sampler;
  CHECK_FALSE(on_host([](P&) {}));
  CHECK_FALSE(on_host([](P& p) { p.temperature = 0, p.repeat_penalty = 1.5f; }));
  CHECK_FALSE(on_host([](P& p) { p.samplers = {kTopP, kTemperature}; }));
  CHECK_FALSE(on_host([](P& p) { p.samplers = {kXtc, kTopK, kDry, kMinP}; }));  // two are off
  CHECK(on_host([](P& p) { p.samplers = {kTopP, kTopK, kTemperature}; }));
  CHECK_FALSE(on_host([](P& p) { p.top_k = 0, p.samplers = {kTopP, kTopK, kTemperature}; }));
  CHECK(on_host([](P& p) { p.samplers = {kTemperature, kTopK}; }));
  CHECK(on_host([](P& p) { p.n_probs = 1; }));
  // At temperature 0 only what changes the largest counts.
  CHECK_FALSE(on_host([](P& p) { p.temperature = 0, p.top_n_sigma = 1; }));
  CHECK_FALSE(on_host([](P& p) { p.temperature = 0, p.samplers = {kTemperature, kMinP, kTopK}; }));
  CHECK(on_host([](P& p) { p.temperature = 0, p.top_n_sigma = 1, p.xtc_probability = 1; }));
  CHECK(on_host([](P& p) { p.temperature = 0, p.samplers = {kTopK, kTypicalP}, p.typical_p = 0; }));
  CHECK(on_host([](P& p) { p.typical_p = 0.9f; }));
  CHECK_FALSE(on_host([](P& p) { p.typical_p = 0.9f, p.samplers = {kTopK}; }));
  CHECK(on_host([](P& p) { p.top_n_sigma = 1; }));
  CHECK(on_host([](P& p) { p.xtc_probability = 0.5f; }));
  CHECK_FALSE(on_host([](P& p) { p.xtc_probability = 0.5f, p.xtc_threshold = 0.6f; }));
  CHECK(on_host([](P& p) { p.dry.multiplier = 0.8f; }));
  CHECK(on_host([](P& p) { p.dynatemp_range = 0.5f; }));
  CHECK(on_host([](P& p) { p.mirostat.version = 1; }));
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
