// Models with recurrent state through the engine: what was evaluated in chunks, stopped in the
// middle of a chain of greedy steps, gone on with or begun again from an earlier token gives the
// text that a fresh evaluation gives. On the CPU device, natively and as WebAssembly, and on the
// first native adapter (software Vulkan will do).
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/task.h"
#include "engine/scheduler.h"
#include "engine/testing/test_filter.h"
#include "gpu/native/native.h"
#include "models/testing/tiny_recurrent.h"
#include "models/testing/tiny_rwkv.h"

using namespace puna;

namespace {

constexpr const char* kArchitectures[] = {"lfm2", "falcon-h1", "jamba", "qwen35", "rwkv6", "rwkv7"};

formats::ModelFile tiny(const fixtures::TinyShape& shape) {
  return shape.architecture.starts_with("rwkv") ? fixtures::tiny_rwkv_model(shape)
                                                : fixtures::tiny_recurrent_model(shape);
}

std::unique_ptr<engine::Engine> load(const char* architecture, std::unique_ptr<gpu::Device> device,
                                     const engine::EngineOptions& more = {}) {
  fixtures::TinyShape shape;
  shape.architecture = architecture;
  shape.context = 1024;
  engine::EngineOptions options = more;
  options.numerics = kernels::Numerics::kExact;
  options.kv_type = kernels::KvType::kF32;
  options.n_threads = 2;
  options.n_sequences = 2;
  gpu::Device* on = device.get();
  auto loaded = base::run_until(engine::Engine::load(tiny(shape), std::move(device), options),
                                [&] { on->poll(); });
  REQUIRE_MESSAGE(loaded.has_value(), loaded.error().text());
  return *std::move(loaded);
}

std::vector<int32_t> prompt(size_t n) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < n; ++i) out.push_back(static_cast<int32_t>((i * 37 + 11) % 96));
  return out;
}

struct Text {
  std::vector<int32_t> tokens;
  engine::GenerateStats stats;
};
// Greedy text, cut after n tokens by whoever hears them.
Text generate(engine::Engine& engine, engine::Scheduler& scheduler, std::vector<int32_t> tokens,
              size_t n) {
  Text text;
  engine::GenerateOptions options;
  options.sampling.temperature = 0;
  auto stats = base::run_until(scheduler.generate(std::move(tokens), options, {},
                                                  [&](const kernels::Chosen& chosen) {
                                                    text.tokens.push_back(chosen.id);
                                                    return text.tokens.size() < n;
                                                  }),
                               [&] { engine.poll(); });
  REQUIRE_MESSAGE(stats.has_value(), stats.error().text());
  text.stats = *stats;
  return text;
}

std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// `engine` against one that evaluates everything from the start.
void check(engine::Engine& engine, engine::Engine& fresh) {
  const auto from_start = [&](const std::vector<int32_t>& tokens, size_t n) {
    engine::Scheduler scheduler(fresh);
    return generate(fresh, scheduler, tokens, n).tokens;
  };
  engine::Scheduler scheduler(engine);
  const std::vector<int32_t> first = prompt(600);  // a chunk and some
  const Text answer = generate(engine, scheduler, first, 11);
  CHECK(answer.tokens == from_start(first, 11));

  // A chat that goes on: only what is new is evaluated, though steps were under way when it
  // stopped.
  const std::vector<int32_t> next = joined(joined(first, answer.tokens), {5, 6, 7});
  generate(engine, scheduler, prompt(20), 5);  // on the other sequence in between
  const Text second = generate(engine, scheduler, next, 20);
  CHECK(second.stats.n_cached == 610);
  CHECK(second.tokens == from_start(next, 20));

  // Another answer to the first prompt: from the last whole page before its end.
  const Text again = generate(engine, scheduler, first, 11);
  CHECK(again.stats.n_cached == 576);
  CHECK(again.tokens == answer.tokens);

  // A prompt that leaves the first one early: from a state that was kept on the way, or from the
  // start. A second one that leaves it there begins where they part.
  std::vector<int32_t> other = first;
  other[550] = 3;
  const Text third = generate(engine, scheduler, other, 6);
  CHECK(third.stats.n_cached == 512);
  CHECK(third.tokens == from_start(other, 6));
  other[310] = 3;
  const Text fourth = generate(engine, scheduler, other, 6);
  CHECK(fourth.stats.n_cached == 0);
  CHECK(fourth.tokens == from_start(other, 6));
  other[311] = 4;
  const Text fifth = generate(engine, scheduler, other, 6);
  CHECK(fifth.stats.n_cached == 288);
  CHECK(fifth.tokens == from_start(other, 6));
  CHECK(generate(engine, scheduler, joined(prompt(20), {9}), 5).tokens ==
        from_start(joined(prompt(20), {9}), 5));
}

constexpr size_t kWritten = 150;
constexpr uint32_t kHeld = 17;  // tokens for which a filter is the same before it goes on in chains

// Two of three tokens, the same ones until one is written that is a multiple of 32. It checks that
// what it takes is allowed.
std::shared_ptr<engine::TokenFilter> turning() {
  return std::make_shared<engine::test::TestFilter>(engine::test::TestFilter::Rules{
      .vocab = fixtures::TinyShape().vocab,
      .allows =
          [](std::span<const int32_t> text, int32_t id) {
            const auto n = std::ranges::count_if(text, [](int32_t own) { return own % 32 == 0; });
            return id % 3 != n % 3;
          },
      .forces = {}});
}

kernels::SamplingParams hot(uint64_t seed) {
  kernels::SamplingParams out;
  out.temperature = 2;
  out.seed = seed;
  return out;
}

// A step at a time, so that nothing is ever dropped.
std::vector<int32_t> write_by_steps(engine::Engine& engine, std::vector<int32_t> tokens,
                                    uint64_t seed,
                                    const std::shared_ptr<engine::TokenFilter>& filter) {
  std::vector<int32_t> text;
  engine.cache().forget(0);
  while (text.size() < kWritten) {
    std::vector<engine::BatchRow> rows(1, {0, tokens, hot(seed)});
    rows[0].filter = filter.get();
    const auto done = base::run_until(engine.decode(std::move(rows), 1,
                                                    [&](std::span<const kernels::Chosen> chosen) {
                                                      tokens = {chosen[0].id};
                                                      return true;
                                                    }),
                                      [&] { engine.poll(); });
    REQUIRE_MESSAGE(done.has_value(), done.error().text());
    text.push_back(tokens[0]);
    if (filter) filter->take(tokens[0]);
  }
  return text;
}

// How often a filter changes that has held so long that chains go on under it.
uint32_t n_late_turns(const std::vector<int32_t>& text) {
  uint32_t n = 0, held = 0;
  for (const int32_t id : text) {
    ++held;
    if (id % 32 != 0) continue;
    if (held > kHeld) ++n;
    held = 0;
  }
  return n;
}

// Texts with such a filter and without, alone and together.
void check_filters(engine::Engine& engine) {
  const auto write = [&](std::vector<std::shared_ptr<engine::TokenFilter>> filters) {
    std::vector<std::vector<int32_t>> texts(filters.size());
    engine::Scheduler scheduler(engine);
    size_t n_done = 0;
    for (size_t i = 0; i < filters.size(); ++i) {
      engine::GenerateOptions options;
      options.sampling = hot(i + 1);
      options.filter = filters[i];
      options.max_tokens = kWritten;
      options.reuse = false;
      base::deliver<base::Result<engine::GenerateStats>>(
          scheduler.generate(prompt(40), options, {},
                             [&texts, i](const kernels::Chosen& chosen) {
                               texts[i].push_back(chosen.id);
                               return true;
                             }),
          [&](const base::Result<engine::GenerateStats>& done) {
            CHECK(done.has_value());
            ++n_done;
          });
    }
    while (n_done < filters.size()) engine.poll();
    return texts;
  };
  const auto filtered = write_by_steps(engine, prompt(40), 1, turning());
  const auto free = write_by_steps(engine, prompt(40), 2, nullptr);
  const auto also_filtered = write_by_steps(engine, prompt(40), 2, turning());
  engine.cache().forget(0);
  CHECK(n_late_turns(filtered) + n_late_turns(also_filtered) > 0);
  CHECK(write({turning()})[0] == filtered);
  const auto beside_free = write({turning(), nullptr});
  CHECK(beside_free[0] == filtered);
  CHECK(beside_free[1] == free);
  const auto both = write({turning(), turning()});
  CHECK(both[0] == filtered);
  CHECK(both[1] == also_filtered);
}

engine::EngineOptions long_chains() {
  engine::EngineOptions out;
  out.chain_ms = 1e9;
  return out;
}

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("recurrent state on the CPU follows a text whose filter changes late") {
  for (const char* architecture : kArchitectures) {
    CAPTURE(architecture);
    check_filters(*load(architecture, nullptr));
  }
}

TEST_CASE("recurrent state on the CPU follows a text that stops, goes on and changes") {
  for (const char* architecture : kArchitectures) {
    CAPTURE(architecture);
    check(*load(architecture, nullptr), *load(architecture, nullptr));
  }
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("gpu");

void for_each_on_gpu(const auto& check_one) {
  const auto adapters = gpu::native::adapters();
  REQUIRE_MESSAGE(adapters.has_value(), adapters.error().text());
  if (adapters->empty()) {
    MESSAGE("SKIPPED: there is no native GPU adapter (not even software Vulkan)");
    return;
  }
  for (const char* architecture : kArchitectures) {
    CAPTURE(architecture);
    auto device = gpu::native::open(0, {});
    REQUIRE_MESSAGE(device.has_value(), device.error().text());
    check_one(architecture, *std::move(device));
  }
}

// What a GPU has run on with when a mask changes is dropped, and the state is as it was before.
TEST_CASE("recurrent state on a GPU follows a text whose filter changes in a chain") {
  for_each_on_gpu([](const char* architecture, auto device) {
    check_filters(*load(architecture, std::move(device), long_chains()));
  });
}

TEST_CASE("recurrent state on a GPU follows a text that stops, goes on and changes") {
  for_each_on_gpu([](const char* architecture, auto device) {
    check(*load(architecture, std::move(device)), *load(architecture, nullptr));
  });
}

TEST_SUITE_END();
