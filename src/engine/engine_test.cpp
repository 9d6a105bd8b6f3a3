#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <functional>

#include "engine/scheduler.h"
#include "engine/testing/prompts.h"
#include "gpu/null/null.h"
#include "models/testing/tiny_model.h"
#include "models/testing/tiny_recurrent.h"

using namespace puna;
using engine::Engine;
using engine::test::test_prompt;

namespace {

std::unique_ptr<Engine> load_tiny(const char* architecture, engine::EngineOptions options = {}) {
  fixtures::TinyShape shape;
  shape.architecture = architecture;
  options.numerics = kernels::Numerics::kExact;
  options.kv_type = kernels::KvType::kF32;
  options.n_threads = 2;
  auto engine = base::run_until(Engine::load(fixtures::tiny_model(shape), nullptr, options), [] {});
  REQUIRE_MESSAGE(engine.has_value(), engine.error().text());
  return *std::move(engine);
}

std::vector<float> logits(Engine& engine, const std::vector<int32_t>& tokens) {
  std::vector<float> out(tokens.size() * 96);
  auto ok = base::run_until(engine.logits(0, tokens, out), [] {});
  REQUIRE_MESSAGE(ok.has_value(), ok.error().text());
  return out;
}

struct Text {
  std::vector<int32_t> tokens;
  engine::GenerateStats stats;
};
base::Result<Text> generate_text(Engine& engine, std::vector<int32_t> tokens,
                                 engine::GenerateOptions options, std::vector<int32_t> end = {}) {
  Text text;
  PUNA_TRY(text.stats, base::run_until(engine::Scheduler(engine).generate(
                                           std::move(tokens), std::move(options), std::move(end),
                                           [&](const kernels::Chosen& chosen) {
                                             text.tokens.push_back(chosen.id);
                                             return true;
                                           }),
                                       [] {}));
  return text;
}

engine::GenerateOptions greedy(uint32_t n) {
  engine::GenerateOptions o;
  o.sampling.temperature = 0;
  o.max_tokens = n;
  return o;
}

}  // namespace

TEST_CASE("logits of a prefix do not depend on what follows") {
  for (const char* architecture : {"llama", "gemma3"}) {
    auto engine = load_tiny(architecture);
    const auto whole = logits(*engine, test_prompt(50));
    const auto part = logits(*engine, test_prompt(33));
    for (size_t i = 0; i < part.size(); ++i) REQUIRE(std::fabs(whole[i] - part[i]) < 1e-4f);
  }
}

TEST_CASE("what is evaluated ends where that is asked for, and leaves its sequence empty") {
  engine::EngineOptions options;
  options.n_sequences = 2;
  const auto writer = load_tiny("llama", options);
  options.embeddings = true;
  const auto reader = load_tiny("llama", options);
  std::vector<float> out(size_t{50} * 96);
  std::atomic<bool> cancel = false;
  const auto logits = [&] {
    return base::run_until(writer->logits(0, test_prompt(50), out, &cancel), [] {});
  };
  const auto embedded = [&] {
    return base::run_until(reader->embed({0}, {test_prompt(50)}, 1, &cancel), [] {});
  };
  const auto read = [&] {
    return base::run_until(writer->prefill(1, test_prompt(50), &cancel), [] {});
  };
  cancel = true;
  CHECK(logits().error().code == base::ErrorCode::kCancelled);
  CHECK(embedded().error().code == base::ErrorCode::kCancelled);
  CHECK(read().error().code == base::ErrorCode::kCancelled);
  CHECK(writer->cache().n_tokens(0) == 0);
  CHECK(writer->cache().n_tokens(1) == 0);
  cancel = false;
  CHECK(logits().has_value());
  CHECK(embedded().has_value());
  CHECK(read().has_value());
}

TEST_CASE(
    "greedy text is the argmax of the logits at each step, and a cached prefix changes nothing") {
  for (const char* architecture : {"llama", "gemma3"}) {
    auto engine = load_tiny(architecture);
    std::vector<int32_t> tokens = test_prompt(40);
    const auto text = generate_text(*engine, tokens, greedy(12));
    REQUIRE(text.has_value());
    CHECK(text->stats.n_prompt == 40);
    CHECK(text->stats.stop == engine::StopReason::kLength);
    // Again, with most of the prompt in the cache.
    const auto again = generate_text(*engine, tokens, greedy(12));
    CHECK(again->stats.n_cached == 39);
    CHECK(again->tokens == text->tokens);
    for (int32_t id : text->tokens) {
      const auto all = logits(*engine, tokens);
      const auto last = std::span(all).last(96);
      CHECK(id == static_cast<int32_t>(std::max_element(last.begin(), last.end()) - last.begin()));
      tokens.push_back(id);
    }
  }
}

TEST_CASE("products of one x and of mixed types each read x in the form they need") {
  using quant::Type;
  for (const auto& [q, k, v] : {std::tuple{Type::kF16, Type::kQ8_0, Type::kQ4_1},
                                {Type::kQ8_0, Type::kF32, Type::kQ8_0},
                                {Type::kF32, Type::kF16, Type::kQ8_0}}) {
    fixtures::TinyShape shape;
    shape.types = {{"attn_q.weight", q}, {"attn_k.weight", k}, {"attn_v.weight", v}};
    std::vector<float> by_numerics[2];
    for (const auto numerics : {kernels::Numerics::kExact, kernels::Numerics::kFast}) {
      engine::EngineOptions options;
      options.numerics = numerics;
      options.n_threads = 2;
      auto engine =
          base::run_until(Engine::load(fixtures::tiny_model(shape), nullptr, options), [] {});
      REQUIRE_MESSAGE(engine.has_value(), engine.error().text());
      by_numerics[static_cast<size_t>(numerics)] = logits(**engine, test_prompt(20));
    }
    double error = 0, size = 0;
    for (size_t i = 0; i < by_numerics[0].size(); ++i) {
      error += std::pow(double{by_numerics[1][i]} - by_numerics[0][i], 2);
      size += std::pow(double{by_numerics[0][i]}, 2);
    }
    CHECK(error / size < 2e-3);
    CHECK(error > 0);  // int8 did take part
  }
}

TEST_CASE("generation stops at an end token, at the context's end, and when asked to") {
  engine::EngineOptions options;
  options.context = 64;
  auto engine = load_tiny("llama", options);
  const auto text = generate_text(*engine, test_prompt(10), greedy(20));
  REQUIRE(text->tokens.size() == 20);
  const int32_t third = text->tokens[2];
  size_t first = 0;
  while (text->tokens[first] != third) ++first;
  const auto ended = generate_text(*engine, test_prompt(10), greedy(20), {third});
  CHECK(ended->tokens.size() == first);
  CHECK(ended->stats.stop == engine::StopReason::kEnd);

  engine::GenerateOptions unlimited = greedy(0);
  unlimited.max_tokens.reset();
  const auto full = generate_text(*engine, test_prompt(10), unlimited);
  CHECK(full->tokens.size() == 54);
  CHECK(full->stats.stop == engine::StopReason::kContext);

  engine::GenerateOptions cancelled = greedy(20);
  const auto control = std::make_shared<engine::Control>();
  control->cancel = true;
  cancelled.control = control;
  CHECK(generate_text(*engine, test_prompt(10), cancelled)->stats.stop ==
        engine::StopReason::kCancelled);
}

TEST_CASE("impossible requests are refused with both numbers") {
  engine::EngineOptions options;
  options.context = 64;
  auto engine = load_tiny("llama", options);
  CHECK(generate_text(*engine, test_prompt(64), greedy(1)).error().message ==
        "The prompt has 64 tokens, but the context holds 64 and needs room for an answer; the "
        "model was "
        "trained with a context of 256.");
  CHECK(generate_text(*engine, {1, 96}, greedy(1)).error().message ==
        "Token id 96 is outside the vocabulary (0 to 95).");
  CHECK(generate_text(*engine, {}, greedy(1)).error().message == "The prompt has no tokens.");
  options.context = 257;
  auto refused = base::run_until(Engine::load(fixtures::tiny_model(), nullptr, options), [] {});
  CHECK(refused.error().message ==
        "A context of 257 tokens is asked for, but the model was trained with 256; --ctx 0 takes "
        "all of them.");
}

TEST_CASE("drafts that cannot be tried are refused, and why") {
  const auto refused = [](Engine& engine, const std::function<void(engine::BatchRow&)>& change) {
    engine::BatchRow row{0, test_prompt(4), greedy(1).sampling};
    row.drafts = {1, 2, 3};
    change(row);
    const auto done = base::run_until(engine.decode({row}, 1, [](auto) { return true; }), [] {});
    return done ? "" : done.error().message;
  };
  engine::EngineOptions options;
  options.n_drafts = 3;
  const auto engine = load_tiny("llama", options);
  CHECK(refused(*engine, [](engine::BatchRow&) {}).empty());
  CHECK(refused(*engine, [](engine::BatchRow& row) { row.drafts.resize(4); }) ==
        "Sequence 0 has 4 drafts; the engine was loaded for 3 at most.");
  CHECK(refused(*engine, [](engine::BatchRow& row) { row.drafts[1] = 96; }) ==
        "Token id 96 is outside the vocabulary (0 to 95).");
  CHECK(refused(*engine, [](engine::BatchRow& row) { row.chooses = false; }) ==
        "Sequence 0 has drafts, but chooses no token.");
  CHECK(refused(*engine, [](engine::BatchRow& row) { row.sampling.mirostat.version = 2; }) ==
        "Sequence 0 has drafts, but mirostat goes by all that was chosen before.");

  fixtures::TinyShape shape;
  shape.architecture = "qwen35";
  const auto recurrent =
      base::run_until(Engine::load(fixtures::tiny_recurrent_model(shape), nullptr, options), [] {});
  REQUIRE(recurrent.has_value());
  CHECK(refused(**recurrent, [](engine::BatchRow&) {}) ==
        "Sequence 0 has drafts, but the model has recurrent states, which cannot be taken back to "
        "before a draft that is wrong.");
}

TEST_CASE("a read that fails while loading names the tensor") {
  auto file = fixtures::tiny_model();
  file.sources[0] = io::failing(std::move(file.sources[0]), 3);
  auto engine = base::run_until(Engine::load(std::move(file), nullptr, {}), [] {});
  REQUIRE(!engine.has_value());
  CHECK(engine.error().code == base::ErrorCode::kIo);
  CHECK(engine.error().text().find("While reading tensor \"blk.") != std::string::npos);
}

TEST_CASE("a cache of blocks is refused where heads are no whole blocks") {
  engine::EngineOptions options;
  options.n_threads = 1;
  for (const auto type : {kernels::KvType::kQ8_0, kernels::KvType::kQ4_0}) {
    options.kv_type = type;
    const auto engine = base::run_until(
        Engine::load(fixtures::tiny_model({.head_dim = 16}), nullptr, options), [] {});
    REQUIRE_FALSE(engine.has_value());
    CHECK(engine.error().code == base::ErrorCode::kUnsupported);
    CHECK(engine.error().message.find("heads of 16 elements") != std::string::npos);
  }
}

TEST_CASE("a seed gives the same text again") {
  auto engine = load_tiny("llama");
  engine::GenerateOptions o;
  o.sampling.temperature = 1.5f;
  o.sampling.seed = 5;
  o.max_tokens = 30;
  const auto a = generate_text(*engine, test_prompt(5), o),
             b = generate_text(*engine, test_prompt(5), o);
  CHECK(a->tokens == b->tokens);
  o.sampling.seed = 6;
  CHECK(generate_text(*engine, test_prompt(5), o)->tokens != a->tokens);
}
