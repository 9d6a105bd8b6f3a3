// Texts that go on where their context is full.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/scheduler.h"
#include "engine/testing/fake_executor.h"

namespace puna::engine {
namespace {

constexpr uint32_t kVocab = 1000;

std::unique_ptr<Engine> engine_of(uint32_t context, bool recurrent = false) {
  plan::CacheConfig cache;
  cache.n_sequences = 4;
  cache.pages_per_sequence = context / kernels::kPageTokens;
  cache.n_pages = 2 * cache.pages_per_sequence;
  if (recurrent) cache.n_snapshots = 8;
  models::Config config;
  config.vocab = kVocab;
  config.context = context;
  return Engine::around(std::make_unique<test::FakeExecutor>(test::FakeExecutor::Options{
                            .cache = cache, .vocab = kVocab, .recurrent = recurrent}),
                        std::move(config), cache, recurrent, {});
}

std::vector<int32_t> prompt(size_t n, int32_t seed = 1) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < n; ++i)
    out.push_back((static_cast<int32_t>(i) * 37 + seed * 101) % static_cast<int32_t>(kVocab));
  return out;
}

// What the model writes, where `keep` tokens stay and `discard` go (0: half); `left`: the text
// then.
std::vector<int32_t> expected(std::vector<int32_t> text, size_t n, size_t context, size_t keep,
                              size_t discard, std::vector<int32_t>* left = nullptr) {
  std::vector<int32_t> out;
  while (out.size() < n) {
    out.push_back(test::FakeExecutor::next(text, kVocab));
    text.push_back(out.back());
    if (text.size() < context) continue;
    const auto first = text.begin() + static_cast<ptrdiff_t>(keep);
    const size_t gone = discard > 0 ? discard : (text.size() - keep) / 2;
    text.erase(first, first + static_cast<ptrdiff_t>(gone));
  }
  if (left) *left = std::move(text);
  return out;
}

struct Written {
  std::vector<int32_t> tokens;
  GenerateStats stats;
};
base::Task<bool> write(Scheduler& scheduler, std::vector<int32_t> tokens, GenerateOptions options,
                       Written& out) {
  options.sampling.temperature = 0;
  auto stats = co_await scheduler.generate(std::move(tokens), std::move(options), {},
                                           [&](const kernels::Chosen& chosen) {
                                             out.tokens.push_back(chosen.id);
                                             return true;
                                           });
  REQUIRE_MESSAGE(stats.has_value(), stats.error().text());
  out.stats = *stats;
  co_return true;
}
Written write(Engine& engine, std::vector<int32_t> tokens, GenerateOptions options) {
  Scheduler scheduler(engine);
  Written out;
  base::run_until(write(scheduler, std::move(tokens), std::move(options), out),
                  [&] { engine.poll(); });
  return out;
}

GenerateOptions shifting(Shift shift, std::optional<uint32_t> most = {}) {
  GenerateOptions out;
  out.shift = shift;
  out.max_tokens = most;
  return out;
}

TEST_CASE("a text whose context is full drops its older half, and goes on as the rest would") {
  constexpr uint32_t kContext = 128;
  for (const bool recurrent : {false, true}) {
    for (const auto& [keep, discard] : {std::pair{0u, 0u}, {5u, 0u}, {40u, 0u}, {40u, 3u}}) {
      CAPTURE(keep);
      CAPTURE(discard);
      const auto engine = engine_of(kContext, recurrent);
      const Written got =
          write(*engine, prompt(70), shifting({.n_keep = keep, .n_discard = discard}, 300));
      std::vector<int32_t> left;
      CHECK(got.tokens == expected(prompt(70), 300, kContext, keep, discard, &left));
      CHECK(got.stats.left == left);
      CHECK(got.stats.stop == StopReason::kLength);
      CHECK(got.stats.n_generated == 300);
      CHECK(got.stats.n_prompt + got.stats.n_cached == 70);
      CHECK(got.stats.n_discarded >= 300 + 70 - kContext);
      CHECK(engine->cache().n_available() == engine->cache().n_pages());
    }
  }
}

TEST_CASE("the prompt stays where that is asked for, up to three quarters of the context") {
  constexpr uint32_t kContext = 128;
  const auto engine = engine_of(kContext);
  CHECK(write(*engine, prompt(30), shifting({.n_keep = std::nullopt}, 200)).tokens ==
        expected(prompt(30), 200, kContext, 30, 0));
  CHECK(write(*engine, prompt(120), shifting({.n_keep = std::nullopt}, 100)).tokens ==
        expected(prompt(120), 100, kContext, 96, 0));
  CHECK(write(*engine, prompt(120), shifting({.n_keep = 1000}, 100)).tokens ==
        expected(prompt(120), 100, kContext, 96, 0));
  // Whatever is asked for, something stays.
  CHECK(write(*engine, prompt(60), shifting({.n_discard = 1u << 30}, 200)).tokens ==
        expected(prompt(60), 200, kContext, 0, kContext - 1));
}

TEST_CASE("without a number of tokens one more context is written, and then the text ends") {
  constexpr uint32_t kContext = 64;
  const auto engine = engine_of(kContext);
  const Written got = write(*engine, prompt(10), shifting({}));
  CHECK(got.stats.n_generated == kContext - 10 + kContext);
  CHECK(got.stats.stop == StopReason::kContext);
  const Written usual = write(*engine, prompt(10), {});
  CHECK(usual.stats.n_generated == kContext - 10);
  CHECK(usual.stats.n_discarded == 0);
  CHECK(usual.stats.left.empty());
  CHECK(write(*engine, prompt(10), shifting({}, 0)).tokens.empty());
}

TEST_CASE("a text may have less than the context of the engine") {
  const auto engine = engine_of(128);
  CHECK(write(*engine, prompt(10), shifting({.context = 48}, 100)).tokens ==
        expected(prompt(10), 100, 48, 0, 0));
}

TEST_CASE("texts that are shifted do not disturb others") {
  constexpr uint32_t kContext = 128;
  const auto engine = engine_of(kContext);
  Scheduler scheduler(*engine);
  std::vector<Written> got(4);
  std::vector<bool> done(got.size());
  for (size_t i = 0; i < got.size(); ++i) {
    GenerateOptions options = shifting({.n_keep = 8}, 150);
    if (i % 2 == 1) options.shift.reset();
    const auto seed = static_cast<int32_t>(i);
    base::deliver<bool>(write(scheduler, prompt(20, seed), options, got[i]),
                        [&done, i](bool) { done[i] = true; });
  }
  while (std::ranges::find(done, false) != done.end()) engine->poll();
  for (size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    const bool shifts = i % 2 == 0;
    CHECK(got[i].tokens == expected(prompt(20, static_cast<int32_t>(i)),
                                    shifts ? 150 : kContext - 20, kContext, 8, 0));
  }
}

}  // namespace
}  // namespace puna::engine
