// Models with recurrent state through the engine: what was evaluated in chunks, stopped in the
// middle of a chain of greedy steps, gone on with or begun again from an earlier token gives the
// text that a fresh evaluation gives. On the CPU device, natively and as WebAssembly, and on the
// first native adapter (software Vulkan will do).
#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "base/task.h"
#include "engine/scheduler.h"
#include "gpu/native/native.h"
#include "models/testing/tiny_recurrent.h"

using namespace puna;

namespace {

constexpr const char* kArchitectures[] = {"lfm2", "falcon-h1", "qwen35"};

std::unique_ptr<engine::Engine> load(const char* architecture,
                                     std::unique_ptr<gpu::Device> device) {
  fixtures::TinyShape shape;
  shape.architecture = architecture;
  shape.context = 1024;
  engine::EngineOptions options;
  options.numerics = kernels::Numerics::kExact;
  options.kv_type = kernels::KvType::kF32;
  options.n_threads = 2;
  options.n_sequences = 2;
  gpu::Device* on = device.get();
  auto loaded = base::run_until(
      engine::Engine::load(fixtures::tiny_recurrent_model(shape), std::move(device), options),
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

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("recurrent state on the CPU follows a text that stops, goes on and changes") {
  for (const char* architecture : kArchitectures) {
    CAPTURE(architecture);
    check(*load(architecture, nullptr), *load(architecture, nullptr));
  }
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("gpu");

TEST_CASE("recurrent state on a GPU follows a text that stops, goes on and changes") {
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
    check(*load(architecture, *std::move(device)), *load(architecture, nullptr));
  }
}

TEST_SUITE_END();
