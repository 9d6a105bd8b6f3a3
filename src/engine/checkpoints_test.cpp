// Copies of recurrent states: how many there are, and where in a text.
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "engine/scheduler.h"
#include "engine/testing/fake_executor.h"
#include "models/testing/tiny_recurrent.h"

namespace puna::engine {
namespace {

std::vector<int32_t> prompt(size_t n, int32_t step = 37) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < n; ++i) out.push_back((static_cast<int32_t>(i) * step + 11) % 96);
  return out;
}

GenerateStats write(Engine& engine, Scheduler& scheduler, std::vector<int32_t> tokens) {
  GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_tokens = 1;
  const auto stats = base::run_until(
      scheduler.generate(std::move(tokens), options, {}, [](const auto&) { return true; }),
      [&] { engine.poll(); });
  REQUIRE_MESSAGE(stats.has_value(), stats.error().text());
  return *stats;
}

// How much is known of a text that parts from one of 600 tokens behind its first 300.
uint32_t known_of_300(uint32_t n_states, uint32_t interval) {
  constexpr uint32_t kContext = 1024, kVocab = 96;
  plan::CacheConfig cache;
  cache.pages_per_sequence = kContext / kernels::kPageTokens;
  cache.n_pages = 2 * cache.pages_per_sequence;
  cache.n_snapshots = n_states;
  models::Config config;
  config.vocab = kVocab;
  config.context = kContext;
  EngineOptions options;
  options.state_interval = interval;
  const auto engine =
      Engine::around(std::make_unique<test::FakeExecutor>(test::FakeExecutor::Options{
                         .cache = cache, .vocab = kVocab, .recurrent = true}),
                     std::move(config), cache, /*recurrent=*/true, options);
  Scheduler scheduler(*engine);
  write(*engine, scheduler, prompt(600));
  std::vector<int32_t> other = prompt(300);
  const std::vector<int32_t> more = prompt(100, /*step=*/5);
  other.insert(other.end(), more.begin(), more.end());
  return write(*engine, scheduler, other).n_cached;
}

TEST_CASE("recurrent states are kept every so many tokens of a prompt, in whole pages") {
  CHECK(known_of_300(100, 512) == 0);
  CHECK(known_of_300(100, 256) == 256);
  CHECK(known_of_300(100, 128) == 256);
  CHECK(known_of_300(100, 96) == 288);
  CHECK(known_of_300(100, 65) == 288);  // three pages
  CHECK(known_of_300(100, 0) == 288);   // each page
}

TEST_CASE("where there are few copies those nearest to the start of a text go, and none will do") {
  CHECK(known_of_300(3, 64) == 0);
  CHECK(known_of_300(12, 64) == 256);
  CHECK(known_of_300(0, 64) == 0);
}

TEST_CASE("an engine has as many copies for each text as are asked for") {
  fixtures::TinyShape shape;
  shape.architecture = "lfm2";
  const auto kv_of = [&](uint32_t states) {
    EngineOptions options;
    options.n_sequences = 2;
    options.states_each = states;
    options.n_threads = 1;
    const auto told = Engine::forecast(fixtures::tiny_recurrent_model(shape), options, nullptr);
    REQUIRE_MESSAGE(told.has_value(), told.error().text());
    const auto engine = base::run_until(
        Engine::load(fixtures::tiny_recurrent_model(shape), nullptr, options), [] {});
    REQUIRE_MESSAGE(engine.has_value(), engine.error().text());
    Scheduler scheduler(**engine);
    CHECK(write(**engine, scheduler, prompt(20)).n_generated == 1);
    CHECK((*engine)->memory() == told->stages[0].memory);
    return told->memory_on(false).kv;
  };
  const uint64_t none = kv_of(0), one = kv_of(1);
  CHECK(one > none);
  CHECK(kv_of(3) - none == 3 * (one - none));
}

}  // namespace
}  // namespace puna::engine
