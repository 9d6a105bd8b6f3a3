// A scheduler over an executor without a model, and texts for it whose tokens are known.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "engine/scheduler.h"
#include "engine/testing/fake_executor.h"
#include "engine/testing/test_filter.h"

namespace puna::engine::test {

inline constexpr uint32_t kVocab = 1000;

struct Setup {
  uint32_t n_sequences = 8;
  uint32_t context = 256;
  uint32_t n_pages = 64;
  bool recurrent = false;
  uint32_t n_window_pages = 0;
  uint32_t window = 0;
  uint64_t host_cache_bytes = 0;
  std::function<bool()> fails = {};
  bool begins_ahead = false;
  uint32_t step_tokens = kernels::kMaxStepTokens;
};

struct Fixture {
  explicit Fixture(const Setup& setup) {
    plan::CacheConfig cache;
    cache.n_sequences = setup.n_sequences;
    cache.pages_per_sequence = setup.context / kernels::kPageTokens;
    cache.n_pages = setup.n_pages;
    cache.n_window_pages = setup.n_window_pages;
    cache.n_snapshots = setup.recurrent ? 2 * setup.n_sequences : 0;
    cache.step_rows = setup.step_tokens;
    auto fake =
        std::make_unique<FakeExecutor>(FakeExecutor::Options{.cache = cache,
                                                             .vocab = kVocab,
                                                             .recurrent = setup.recurrent,
                                                             .window = setup.window,
                                                             .fails = setup.fails,
                                                             .begins_ahead = setup.begins_ahead});
    device = fake.get();
    models::Config config;
    config.vocab = kVocab;
    config.context = setup.context;
    engine::EngineOptions options;
    options.host_cache_bytes = setup.host_cache_bytes;
    options.step_tokens = setup.step_tokens;
    model = Engine::around(std::move(fake), std::move(config), cache, setup.recurrent, options,
                           setup.window);
    scheduler.emplace(*model);
  }
  // Steps until nothing is under way.
  void finish() {
    while (device->pump()) {
    }
  }

  FakeExecutor* device = nullptr;
  std::unique_ptr<Engine> model;
  std::optional<Scheduler> scheduler;
};

inline std::vector<int32_t> prompt(size_t n, uint32_t seed) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < n; ++i)
    out.push_back(static_cast<int32_t>((i * 37 + i / 60 * 11 + seed * 13) % kVocab));
  return out;
}

// What follows a text, up to n tokens; nothing passes the filter in the end where it allows
// nothing.
inline std::vector<int32_t> continued(std::vector<int32_t> text, size_t n,
                                      const TestFilter::Rules& rules = {}) {
  std::vector<int32_t> out;
  TestFilter filter(rules);
  const auto add = [&](int32_t id) {
    out.push_back(id);
    text.push_back(id);
    filter.take(id);
  };
  while (out.size() < n && !filter.done()) {
    for (const int32_t id : filter.forced()) {
      if (out.size() < n) add(id);
    }
    if (out.size() >= n || filter.done()) break;
    const auto allowed = filter.allowed().value_or(std::span<const uint32_t>());
    const int32_t id = FakeExecutor::next(text, kVocab, allowed);
    if (id == kernels::kNoToken) break;
    add(id);
  }
  return out;
}

// One of several filters, or none: half of the vocabulary, in turns; forced runs, at the beginning
// too; an end; nothing at all after a while, where the text may end and where it may not; the same
// for long, but behind some tokens, and with forced runs between.
inline std::optional<TestFilter::Rules> rules_of(uint32_t kind) {
  TestFilter::Rules rules{.vocab = kVocab, .allows = {}, .forces = {}};
  const auto half = [](std::span<const int32_t> text, int32_t id) {
    return static_cast<size_t>(id) % 2 == text.size() % 2;
  };
  const auto run = [](std::span<const int32_t> text) {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < 6 && text.size() % 9 == 0; ++i) ids.push_back(100 + i);
    return ids;
  };
  switch (kind) {
    case 0:
      rules.allows = half;
      break;
    case 1:
      rules.forces = run;
      rules.most = 21;
      break;
    case 2:
    case 3:
      rules.allows = [](std::span<const int32_t> text, int32_t) { return text.size() < 5; };
      rules.complete = kind == 2 ? 5 : SIZE_MAX;
      break;
    case 4:
    case 5:
      rules.allows = [](std::span<const int32_t> text, int32_t id) {
        const bool is_mark = !text.empty() && text.back() % 16 == 0;
        return id % 2 == (is_mark ? 1 : 0) || id % 5 == 0;
      };
      if (kind == 4) break;
      rules.forces = [](std::span<const int32_t> text) {
        return text.size() % 17 == 13 ? std::vector<int32_t>{5, 5} : std::vector<int32_t>();
      };
      break;
    default:
      return {};
  }
  return rules;
}

struct ScheduledText {
  std::vector<int32_t> prompt, tokens;
  std::optional<TestFilter::Rules> rules;
  uint32_t n_probs = 0;
  std::vector<int32_t> ruled_out = {};  // by logit biases
  std::shared_ptr<Control> control = std::make_shared<Control>();
  std::optional<base::Result<GenerateStats>> result;
};

inline void begin(Fixture& fixture, ScheduledText& text, uint32_t n_tokens) {
  GenerateOptions options;
  options.sampling.temperature = 0;
  options.sampling.n_probs = text.n_probs;
  options.max_tokens = n_tokens;
  options.control = text.control;
  for (const int32_t id : text.ruled_out)
    options.sampling.logit_bias.emplace_back(id, -std::numeric_limits<float>::infinity());
  if (text.rules) options.filter = std::make_shared<TestFilter>(*text.rules);
  base::deliver<base::Result<GenerateStats>>(
      fixture.scheduler->generate(text.prompt, options, {},
                                  [&text](const kernels::Chosen& chosen) {
                                    text.tokens.push_back(chosen.id);
                                    return true;
                                  }),
      [&text](base::Result<GenerateStats> result) { text.result = std::move(result); });
}

inline void check_nothing_is_held(Fixture& fixture) {
  const engine::TextCache& cache = fixture.model->cache();
  CHECK(fixture.scheduler->n_running() == 0);
  CHECK(fixture.scheduler->n_waiting() == 0);
  CHECK(cache.n_available() == cache.n_pages());
  const engine::WindowSlots& windows = cache.windows();
  CHECK(windows.n_needed() == 0);
  // Every page is free or has a node, and every slot is free or has such a page.
  std::set<uint32_t> pages, slots;
  for (const auto end : cache.prefixes().ends()) {
    for (const auto node : cache.prefixes().path(end)) {
      const auto page = cache.prefixes().page(node);
      if (!page) continue;
      pages.insert(*page);
      if (const auto slot = windows.slot(*page)) slots.insert(*slot);
    }
  }
  CHECK(cache.n_free() + pages.size() == cache.n_pages());
  CHECK(windows.n_free() + slots.size() == windows.n_slots());
}

}  // namespace puna::engine::test
