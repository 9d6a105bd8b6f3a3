#include "engine/scheduler.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engine/testing/prompts.h"
#include "engine/testing/test_filter.h"
#include "kernels/sample/sample_cpu.h"
#include "models/testing/tiny_model.h"

using namespace puna;
using engine::Engine;
using engine::Scheduler;
using engine::test::test_prompt;

namespace {

std::unique_ptr<Engine> load(uint32_t n_sequences, engine::EngineOptions options = {}) {
  options.numerics = kernels::Numerics::kExact;
  options.kv_type = kernels::KvType::kF32;
  options.n_threads = 2;
  options.n_sequences = n_sequences;
  options.turn_ms = 1e-6;  // chunks of a prompt are small, then
  auto engine = base::run_until(Engine::load(fixtures::tiny_model(), nullptr, options), [] {});
  REQUIRE_MESSAGE(engine.has_value(), engine.error().text());
  return *std::move(engine);
}

engine::GenerateOptions drawn(uint64_t seed, uint32_t n) {
  engine::GenerateOptions out;
  out.sampling.seed = seed;
  out.sampling.temperature = seed % 2 == 0 ? 0 : 1.5f;
  out.sampling.repeat_penalty = seed % 3 == 0 ? 1.0f : 1.3f;
  out.max_tokens = n;
  return out;
}

struct Text {
  std::vector<int32_t> tokens;
  std::optional<base::Result<engine::GenerateStats>> result;
};

// Begins to write `text`; at_token is told the number of each token.
void begin(Scheduler& scheduler, std::vector<int32_t> tokens, engine::GenerateOptions options,
           Text& text, std::function<void(size_t)> at_token = {}) {
  base::deliver<base::Result<engine::GenerateStats>>(
      scheduler.generate(std::move(tokens), std::move(options), {},
                         [&text, at_token = std::move(at_token)](const kernels::Chosen& chosen) {
                           text.tokens.push_back(chosen.id);
                           if (at_token) at_token(text.tokens.size());
                           return true;
                         }),
      [&text](base::Result<engine::GenerateStats> result) { text.result = std::move(result); });
}

Text alone(std::vector<int32_t> tokens, engine::GenerateOptions options) {
  const auto engine = load(1);
  Scheduler scheduler(*engine);
  Text out;
  begin(scheduler, std::move(tokens), std::move(options), out);
  REQUIRE(out.result);
  REQUIRE_MESSAGE(out.result->has_value(), out.result->error().text());
  return out;
}

}  // namespace

TEST_CASE("texts written at the same time are those that are written alone") {
  const auto engine = load(3);
  Scheduler scheduler(*engine);
  constexpr size_t kTexts = 6;  // more than there are sequences
  std::vector<Text> texts(kTexts);
  const auto prompt_of = [](size_t i) { return test_prompt(3 + 25 * i, i); };
  const auto options_of = [](size_t i) { return drawn(i, static_cast<uint32_t>(40 - 5 * i)); };
  // One begins; two come while it is written, the others while those wait or are read.
  begin(scheduler, prompt_of(0), options_of(0), texts[0], [&](size_t n) {
    if (n == 3) begin(scheduler, prompt_of(1), options_of(1), texts[1]);
    if (n == 3) begin(scheduler, prompt_of(2), options_of(2), texts[2]);
    if (n == 5)
      for (size_t i = 3; i < kTexts; ++i) begin(scheduler, prompt_of(i), options_of(i), texts[i]);
  });
  for (size_t i = 0; i < kTexts; ++i) {
    CAPTURE(i);
    REQUIRE(texts[i].result);
    REQUIRE_MESSAGE(texts[i].result->has_value(), texts[i].result->error().text());
    CHECK((*texts[i].result)->n_prompt == prompt_of(i).size());
    CHECK((*texts[i].result)->n_generated == options_of(i).max_tokens);
    CHECK(texts[i].tokens == alone(prompt_of(i), options_of(i)).tokens);
  }
}

TEST_CASE("a text that is refused or cancelled leaves the others as they are") {
  const auto engine = load(1);
  Scheduler scheduler(*engine);
  Text first, refused, waiting, last;
  const auto control = std::make_shared<engine::Control>();
  engine::GenerateOptions cancelled = drawn(1, 20);
  cancelled.control = control;
  size_t tokens_when_cancelled = 0;
  begin(scheduler, test_prompt(10), drawn(5, 30), first, [&](size_t n) {
    if (n == 2) {
      begin(scheduler, {1, 96}, drawn(0, 5), refused);
      begin(scheduler, test_prompt(8), cancelled, waiting);
      begin(scheduler, test_prompt(12), drawn(7, 5), last);
    }
    if (n == 6) control->cancel = true;
    if (waiting.result && tokens_when_cancelled == 0) tokens_when_cancelled = n;
  });
  CHECK(refused.result->error().message == "Token id 96 is outside the vocabulary (0 to 95).");
  CHECK((*waiting.result)->stop == engine::StopReason::kCancelled);
  CHECK((*waiting.result)->n_generated == 0);
  CHECK(tokens_when_cancelled == 7);  // it does not wait for the text before it
  CHECK(first.tokens == alone(test_prompt(10), drawn(5, 30)).tokens);
  CHECK(last.tokens == alone(test_prompt(12), drawn(7, 5)).tokens);
}

TEST_CASE("texts share the pages of what they have in common, running or ended") {
  const auto engine = load(2);
  Scheduler scheduler(*engine);
  Text a, b, next, shorter;
  begin(scheduler, test_prompt(100, 1), drawn(0, 10), a);
  begin(scheduler, test_prompt(60, 2), drawn(0, 10), b);
  // 109 tokens and 69, of which the last ones of each were not evaluated.
  CHECK(engine->cache().prefixes().n_nodes() == 4 + 3);
  CHECK(engine->cache().n_available() == engine->cache().n_pages());
  // Goes on with the first.
  std::vector<int32_t> more = test_prompt(100, 1);
  more.insert(more.end(), a.tokens.begin(), a.tokens.end());
  more.push_back(4);
  begin(scheduler, more, drawn(0, 5), next);
  CHECK((*next.result)->n_cached == 109);
  CHECK((*next.result)->n_prompt == 2);
  // Begins as it does; the page in which they part is copied.
  begin(scheduler, test_prompt(41, 1), drawn(0, 3), shorter);
  CHECK((*shorter.result)->n_cached == 40);
  CHECK(shorter.tokens == alone(test_prompt(41, 1), drawn(0, 3)).tokens);
  more.insert(more.end(), next.tokens.begin(), next.tokens.end());
  Text last;
  begin(scheduler, more, drawn(0, 4), last);
  CHECK((*last.result)->n_cached == more.size() - 1);
  CHECK(last.tokens == alone(more, drawn(0, 4)).tokens);
}

TEST_CASE("no tokens asked for: the prompt is read and kept") {
  const auto engine = load(1);
  Scheduler scheduler(*engine);
  Text nothing, after;
  begin(scheduler, test_prompt(90), drawn(0, 0), nothing);
  CHECK((*nothing.result)->stop == engine::StopReason::kLength);
  CHECK(nothing.tokens.empty());
  begin(scheduler, test_prompt(90), drawn(0, 5), after);
  CHECK((*after.result)->n_cached == 89);
  CHECK(after.tokens == alone(test_prompt(90), drawn(0, 5)).tokens);
}

TEST_CASE("a text whose reader is behind pauses, and keeps nobody waiting") {
  const auto engine = load(1);
  Scheduler scheduler(*engine);
  const auto control = std::make_shared<engine::Control>();
  engine::GenerateOptions held = drawn(3, 20);
  held.control = control;
  const auto want = alone(test_prompt(10), drawn(3, 20)).tokens;

  Text text;
  begin(scheduler, test_prompt(10), held, text,
        [&](size_t n) { control->hold = n == 5 || n == 9; });
  CHECK_FALSE(text.result);
  CHECK(text.tokens.size() == 5);
  scheduler.wake();  // still held
  CHECK(text.tokens.size() == 5);
  control->hold = false;
  scheduler.wake();
  CHECK(text.tokens.size() == 9);
  // Another one gets the only sequence; the first is taken up again when it is read.
  Text other;
  begin(scheduler, test_prompt(30, 4), drawn(2, 6), other);
  CHECK(other.tokens == alone(test_prompt(30, 4), drawn(2, 6)).tokens);
  CHECK(text.tokens.size() == 9);
  control->hold = false;
  scheduler.wake();
  CHECK(text.tokens == want);
  CHECK((*text.result)->n_prompt == 10);

  Text stopped;
  begin(scheduler, test_prompt(10), held, stopped, [&](size_t n) { control->hold = n == 5; });
  control->cancel = true;
  scheduler.wake();
  CHECK((*stopped.result)->stop == engine::StopReason::kCancelled);
  CHECK(stopped.tokens == std::vector<int32_t>(want.begin(), want.begin() + 5));
}

// The text that the host chooses by the logits of a fresh evaluation for each token; of those that
// may not follow, -inf.
std::vector<int32_t> by_host(
    std::vector<int32_t> text, const engine::GenerateOptions& options,
    const std::function<bool(std::span<const int32_t>, int32_t)>& allows = {}) {
  constexpr uint32_t kVocab = 96;
  const auto engine = load(1);
  kernels::CpuSampler sampler;
  kernels::SamplerState state;
  std::vector<int32_t> out;
  while (out.size() < *options.max_tokens) {
    std::vector<float> logits(text.size() * kVocab);
    REQUIRE(base::run_until(engine->logits(0, text, logits), [] {}));
    const auto last = std::span(logits).last(kVocab);
    for (uint32_t id = 0; id < kVocab && allows; ++id) {
      if (!allows(out, static_cast<int32_t>(id))) last[id] = -INFINITY;
    }
    out.push_back(sampler.sample(options.sampling, last, text, static_cast<uint32_t>(text.size()),
                                 {}, &state));
    text.push_back(out.back());
  }
  return out;
}

TEST_CASE(
    "every sampler chooses from a text what it chooses from its logits, and mu is the text's") {
  const auto engine = load(4);
  Scheduler scheduler(*engine);
  std::vector<engine::GenerateOptions> options(4, drawn(1, 25));
  options[0].sampling.dry = {.multiplier = 2, .base = 2, .allowed_length = 1, .last = 50};
  options[0].sampling.temperature = 0;
  options[1].sampling.mirostat = {.version = 2, .tau = 2, .eta = 0.5f};
  options[2].sampling.xtc_probability = 0.5f;
  options[2].sampling.typical_p = 0.9f;
  options[2].sampling.dynatemp_range = 0.7f;
  options[3].sampling.mirostat = {.version = 1, .tau = 3, .eta = 0.3f};
  std::vector<Text> texts(4);
  for (size_t i = 0; i < 4; ++i) begin(scheduler, test_prompt(20 + 9 * i, i), options[i], texts[i]);
  for (size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(texts[i].tokens == by_host(test_prompt(20 + 9 * i, i), options[i]));
  }
}

TEST_CASE("one of 16 texts passes a filter, and the others are as without it") {
  constexpr size_t kTexts = 16;
  constexpr uint32_t kVocab = 96, kTokens = 12;
  const auto half = [](std::span<const int32_t>, int32_t id) { return id % 2 == 1; };
  const engine::test::TestFilter::Rules rules{.vocab = kVocab, .allows = half, .forces = {}};
  const auto engine = load(kTexts);
  Scheduler scheduler(*engine);
  std::vector<Text> texts(kTexts);
  const auto prompt_of = [](size_t i) { return test_prompt(3 + 4 * i, i); };
  for (size_t i = 0; i < kTexts; ++i) {
    engine::GenerateOptions options = drawn(i, kTokens);
    if (i == 5) options.filter = std::make_shared<engine::test::TestFilter>(rules);
    begin(scheduler, prompt_of(i), options, texts[i]);
  }
  for (size_t i = 0; i < kTexts; ++i) {
    CAPTURE(i);
    REQUIRE((texts[i].result && texts[i].result->has_value()));
    if (i != 5) CHECK(texts[i].tokens == alone(prompt_of(i), drawn(i, kTokens)).tokens);
  }
  CHECK(texts[5].tokens == by_host(prompt_of(5), drawn(5, kTokens), half));
}

TEST_CASE("whoever wants to know is told how far a prompt is read, once each") {
  const auto engine = load(2);
  Scheduler scheduler(*engine);
  for (const uint32_t n_cached : {0U, 99U}) {
    std::vector<engine::PromptProgress> told;
    engine::GenerateOptions options = drawn(2, 4);
    options.on_prompt = [&](const engine::PromptProgress& progress) { told.push_back(progress); };
    Text text;
    begin(scheduler, test_prompt(100), std::move(options), text,
          [&](size_t) { CHECK(told.back().n_read == 100); });
    REQUIRE(text.result.has_value());
    REQUIRE(told.size() >= (n_cached == 0 ? 3 : 2));
    for (size_t i = 0; i < told.size(); ++i) {
      CHECK(told[i].n_tokens == 100);
      CHECK(told[i].n_cached == n_cached);
      if (i == 0) continue;
      CHECK(told[i].n_read > told[i - 1].n_read);
      CHECK(told[i].ms >= told[i - 1].ms);
    }
    CHECK(told[0].n_read == n_cached);
    CHECK(told.back().n_read == 100);
  }
}
