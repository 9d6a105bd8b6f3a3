// Many texts at once through the scheduler: each gets the text that it gets alone, whatever else is
// in its steps, also where memory for all of them is short; and a chat never evaluates its history
// again. On the CPU device, natively and as WebAssembly, and on the first native adapter (software
// Vulkan will do).
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "base/task.h"
#include "engine/scheduler.h"
#include "formats/open.h"
#include "gpu/native/native.h"
#include "models/testing/tiny_recurrent.h"

using namespace puna;

namespace {

struct Model {
  const char* name;
  bool golden;  // in tests/goldens; otherwise the name of an architecture
  bool windows = false;
};
// Plain attention, windows; beside attention Mamba-2, Mamba, the gated delta rule.
constexpr Model kModels[] = {{"llama-q4_0.gguf", true},
                             {"gemma3-q8_0.gguf", true, true},
                             {"falcon-h1", false},
                             {"jamba", false},
                             {"qwen35", false}};

formats::ModelFile open(const Model& model) {
  if (!model.golden) {
    fixtures::TinyShape shape;
    shape.architecture = model.name;
    shape.context = 1024;
    return fixtures::tiny_recurrent_model(shape);
  }
  auto file = base::run_until(
      formats::open_model(std::string("tests/goldens/") + model.name, formats::OpenOptions{}),
      [] {});
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  return *std::move(file);
}

struct Loaded {
  Loaded(const Model& model, std::unique_ptr<gpu::Device> device, uint32_t n_sequences,
         std::optional<uint64_t> cache_tokens = {}, std::optional<uint64_t> window_tokens = {}) {
    engine::EngineOptions options;
    options.numerics = kernels::Numerics::kExact;
    options.kv_type = kernels::KvType::kF32;
    options.n_threads = 2;
    options.n_sequences = n_sequences;
    options.cache_tokens = cache_tokens;
    options.window_cache_tokens = window_tokens;
    options.context = 0;
    gpu::Device* on = device.get();
    auto done = base::run_until(engine::Engine::load(open(model), std::move(device), options), [&] {
      REQUIRE(on != nullptr);
      on->poll();
    });
    REQUIRE_MESSAGE(done.has_value(), done.error().text());
    engine = *std::move(done);
    scheduler.emplace(*engine);
  }

  std::unique_ptr<engine::Engine> engine;
  std::optional<engine::Scheduler> scheduler;
};

// The greedy text of one request.
struct Text {
  std::vector<int32_t> prompt;
  uint32_t n_tokens = 0;      // that are wanted
  uint32_t arrives = 0;       // when so many tokens of all texts were written
  uint32_t cancelled_at = 0;  // tokens of it; 0: never

  std::vector<int32_t> tokens;
  std::vector<float> logprobs;  // of the tokens, where the device is the CPU
  std::optional<engine::GenerateStats> stats;
};

uint32_t below(std::mt19937& random, uint32_t end) { return static_cast<uint32_t>(random() % end); }

std::vector<int32_t> random_tokens(std::mt19937& random, size_t n, uint32_t vocab) {
  std::vector<int32_t> out(n);
  for (int32_t& id : out) id = static_cast<int32_t>(below(random, vocab));
  return out;
}

// All texts, each from when it arrives.
void write_all(Loaded& on, std::vector<Text>& texts) {
  uint32_t n_written = 0;
  size_t n_left = texts.size();
  std::vector<bool> begun(texts.size());
  std::function<void()> begin_those_that_arrived;
  const auto begin = [&](size_t i) {
    Text& text = texts[i];
    const auto control = std::make_shared<engine::Control>();
    engine::GenerateOptions options;
    options.sampling.temperature = 0;
    options.max_tokens = text.n_tokens;
    options.control = control;
    if (!on.engine->device()) options.sampling.n_probs = 1;
    const auto on_token = [&, control](const kernels::Chosen& chosen) {
      text.tokens.push_back(chosen.id);
      if (chosen.logprob) text.logprobs.push_back(*chosen.logprob);
      if (text.tokens.size() == text.cancelled_at) control->cancel = true;
      ++n_written;
      begin_those_that_arrived();
      return true;
    };
    const auto on_end = [&](base::Result<engine::GenerateStats> stats) {
      REQUIRE_MESSAGE(stats.has_value(), stats.error().text());
      text.stats = *stats;
      --n_left;
    };
    base::deliver<base::Result<engine::GenerateStats>>(
        on.scheduler->generate(text.prompt, options, {}, on_token), on_end);
  };
  begin_those_that_arrived = [&] {
    for (size_t i = 0; i < texts.size(); ++i) {
      if (begun[i] || texts[i].arrives > n_written) continue;
      begun[i] = true;
      begin(i);
    }
  };
  begin_those_that_arrived();
  while (n_left > 0) {
    on.engine->poll();
    // Where everything has ended before the next arrives.
    if (on.scheduler->n_running() + on.scheduler->n_waiting() > 0) continue;
    const auto next = std::ranges::find(begun, false);
    if (next == begun.end()) continue;
    *next = true;
    begin(static_cast<size_t>(next - begun.begin()));
  }
}

std::vector<Text> some_texts(std::mt19937& random, const engine::Engine& engine, size_t n) {
  const uint32_t vocab = engine.config().vocab, context = std::min(engine.context(), 200u);
  // Half of them begin as others do.
  const std::vector<int32_t> common = random_tokens(random, context / 2, vocab);
  std::vector<Text> out(n);
  uint32_t arrives = 0;
  for (Text& text : out) {
    text.prompt = random_tokens(random, 1 + below(random, context / 3), vocab);
    if (below(random, 2) == 0) {
      const auto end = common.begin() + 1 + below(random, context / 2 - 1);
      text.prompt.insert(text.prompt.begin(), common.begin(), end);
    }
    const auto room = context - static_cast<uint32_t>(text.prompt.size());
    text.n_tokens = 1 + below(random, std::min(room, 24u));
    arrives += below(random, 6);
    text.arrives = arrives;
    if (below(random, 5) == 0) text.cancelled_at = 1 + below(random, text.n_tokens);
  }
  return out;
}

// 32 texts in `together` against each of them in `alone`.
void check_texts(Loaded& together, Loaded& alone, uint32_t seed) {
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::vector<Text> texts = some_texts(random, *together.engine, 32);
  std::vector<Text> expected = texts;
  write_all(together, texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(i);
    std::vector<Text> one(1, expected[i]);
    one[0].arrives = 0;
    one[0].cancelled_at = 0;
    write_all(alone, one);
    const bool cancelled = texts[i].cancelled_at > 0;
    const size_t n = cancelled ? texts[i].cancelled_at : texts[i].n_tokens;
    REQUIRE(texts[i].tokens.size() == n);
    one[0].tokens.resize(n);
    CHECK(texts[i].tokens == one[0].tokens);
    if (together.engine->device()) continue;
    one[0].logprobs.resize(n);
    CHECK(texts[i].logprobs == one[0].logprobs);  // to the last bit: docs/numerics.md
  }
}

// Every turn evaluates what is new, and of what was there no more than a page or, where a recurrent
// state is kept, what lies behind the last one.
void check_chat(Loaded& on) {
  std::mt19937 random(7);
  const uint32_t vocab = on.engine->config().vocab;
  std::vector<int32_t> text = random_tokens(random, 40, vocab);
  constexpr uint32_t kTurns = 20;
  size_t n_known = 0;
  for (uint32_t turn = 0; turn < kTurns && text.size() + 20 < on.engine->context(); ++turn) {
    CAPTURE(turn);
    std::vector<Text> one(1);
    one[0].prompt = text;
    one[0].n_tokens = 5;
    write_all(on, one);
    const size_t n_new = text.size() - n_known;
    CHECK(one[0].stats->n_prompt <= n_new + kernels::kPageTokens);
    text.insert(text.end(), one[0].tokens.begin(), one[0].tokens.end());
    n_known = text.size();
    const std::vector<int32_t> question = random_tokens(random, 3 + below(random, 6), vocab);
    text.insert(text.end(), question.begin(), question.end());
  }
}

// Two texts with one beginning share its pages.
void check_shared_prefix(Loaded& on) {
  std::mt19937 random(9);
  const uint32_t vocab = on.engine->config().vocab;
  const std::vector<int32_t> system = random_tokens(random, 3 * kernels::kPageTokens + 5, vocab);
  std::vector<Text> first(1), second(1);
  first[0].prompt = second[0].prompt = system;
  first[0].prompt.push_back(1);
  second[0].prompt.push_back(2);
  first[0].n_tokens = second[0].n_tokens = 4;
  write_all(on, first);
  const uint32_t before = on.engine->cache().n_free();
  write_all(on, second);
  CHECK(second[0].stats->n_cached >= 3 * kernels::kPageTokens);
  CHECK(before - on.engine->cache().n_free() <= 1);
}

// Where layers with windows have few pages, texts give up those behind their windows, and nothing
// else: the other layers keep all of them, and each goes on where it ended.
void check_windows_go_first(Loaded& on, Loaded& alone) {
  const engine::TextCache& cache = on.engine->cache();
  std::mt19937 random(11);
  const uint32_t vocab = on.engine->config().vocab;
  // A text, the answer to it and a question behind that.
  const auto ask = [&](std::vector<int32_t> text, uint32_t n_known) {
    std::vector<Text> one(1), expected(1);
    one[0].prompt = expected[0].prompt = text;
    one[0].n_tokens = expected[0].n_tokens = 10;
    write_all(on, one);
    write_all(alone, expected);
    CHECK(one[0].tokens == expected[0].tokens);
    CHECK(one[0].stats->n_cached == n_known);
    text.insert(text.end(), one[0].tokens.begin(), one[0].tokens.end());
    text.push_back(5);
    return text;
  };
  std::vector<std::vector<int32_t>> texts;
  for (uint32_t i = 0; i < 6; ++i) texts.push_back(ask(random_tokens(random, 200, vocab), 0));
  CHECK(cache.windows().n_free() == 0);
  CHECK(cache.n_free() == cache.n_pages() - 6 * 7);
  uint32_t n_without = 0;
  for (const std::vector<int32_t>& text : texts) {
    const auto found = cache.prefixes().find(text);
    REQUIRE(found.total() == 209);
    CHECK(cache.prefixes().has_window(found.part));
    const auto path = cache.prefixes().path(found.node);
    CHECK(path.size() == 6);
    for (const auto node : path) n_without += cache.prefixes().has_window(node) ? 0 : 1;
  }
  CHECK(n_without == 6 * 7 - cache.windows().n_slots());
  for (const std::vector<int32_t>& text : texts) ask(text, 209);
}

constexpr uint32_t kTexts = 32;
// Memory that 32 such texts have to share.
uint64_t tight(const Loaded& on) { return on.engine->context() + 6 * kernels::kPageTokens; }

// What each text is alone comes from the CPU device: so devices agree, too.
template <class Open>
void check_all(const Model& model, const Open& device) {
  CAPTURE(model.name);
  Loaded alone(model, nullptr, 1);
  Loaded together(model, device(), kTexts);
  check_shared_prefix(together);
  check_chat(together);
  for (const uint32_t seed : {1u, 2u}) check_texts(together, alone, seed);
  Loaded short_of_memory(model, device(), kTexts, tight(alone));
  check_texts(short_of_memory, alone, 3);
  if (!model.windows) return;
  // Layers with windows have pages for little more than what one text needs at once.
  Loaded few_windows(model, device(), kTexts, {}, 700);
  REQUIRE(few_windows.engine->cache().windows().apart());
  check_windows_go_first(few_windows, alone);
  check_texts(few_windows, alone, 4);
  check_chat(few_windows);
}

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE(
    "32 texts at once on the CPU, with and without memory for all, get the text of each alone") {
  for (const Model& model : kModels) check_all(model, [] { return nullptr; });
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("gpu");

TEST_CASE(
    "32 texts at once on a GPU, with and without memory for all, get the text of each alone") {
  const auto adapters = gpu::native::adapters();
  REQUIRE_MESSAGE(adapters.has_value(), adapters.error().text());
  if (adapters->empty()) {
    MESSAGE("SKIPPED: there is no native GPU adapter (not even software Vulkan)");
    return;
  }
  for (const Model& model : kModels) {
    check_all(model, [] {
      auto device = gpu::native::open(0, {});
      REQUIRE_MESSAGE(device.has_value(), device.error().text());
      return *std::move(device);
    });
  }
}

TEST_SUITE_END();
