// Mixtures on an adapter (software Vulkan will do) whose experts are on the CPU give what they give
// on the CPU alone; of how many layers they are there is found by asking the device.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "engine/scheduler.h"
#include "engine/testing/load_engine.h"
#include "engine/testing/prompts.h"
#include "engine/testing/small_device.h"
#include "engine/testing/test_filter.h"
#include "formats/open.h"

using namespace puna;
using engine::Engine;
using engine::test::open_gpu;
using engine::test::SmallDevice;
using engine::test::test_prompt;

namespace {

// Exact numerics, an f32 cache: two devices agree to rounding.
constexpr double kLimit = 1e-6;
constexpr uint32_t kTexts = 5;

formats::ModelFile model(const std::string& name) {
  auto file = base::run_until(formats::open_model("tests/goldens/" + name, {.map = false}), [] {});
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  return *std::move(file);
}

struct Where {
  std::optional<uint32_t> cpu_experts = 0;
  std::optional<uint32_t> gpu_layers = {};
};

engine::EngineOptions options_of(const Where& where) {
  engine::EngineOptions options;
  options.numerics = kernels::Numerics::kExact;
  options.kv_type = kernels::KvType::kF32;
  options.n_threads = 2;
  options.n_sequences = kTexts;
  options.cpu_experts = where.cpu_experts;
  options.gpu_layers = where.gpu_layers;
  return options;
}

base::Result<std::unique_ptr<Engine>> try_load(const std::string& name,
                                               std::unique_ptr<gpu::Device> device,
                                               const Where& where) {
  return engine::test::try_load_engine(model(name), std::move(device), options_of(where));
}
std::unique_ptr<Engine> load(const std::string& name, std::unique_ptr<gpu::Device> device,
                             const Where& where = {}) {
  auto engine = try_load(name, std::move(device), where);
  REQUIRE_MESSAGE(engine.has_value(), engine.error().text());
  return *std::move(engine);
}

// More rows than one run of the head takes.
std::vector<float> logits(Engine& engine) {
  const std::vector<int32_t> tokens = test_prompt(40, 0, engine.config().vocab);
  std::vector<float> out(tokens.size() * engine.n_out());
  const auto done = base::run_until(engine.logits(0, tokens, out), [&] { engine.poll(); });
  REQUIRE_MESSAGE(done.has_value(), done.error().text());
  return out;
}

double nmse(std::span<const float> got, std::span<const float> wanted) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    error += std::pow(double{got[i]} - double{wanted[i]}, 2);
    norm += std::pow(double{wanted[i]}, 2);
  }
  return error / norm;
}

// Where half of the vocabulary may follow, another half behind each token.
std::shared_ptr<engine::TokenFilter> alternating(const Engine& engine) {
  return std::make_shared<engine::test::TestFilter>(engine::test::TestFilter::Rules{
      .vocab = engine.config().vocab,
      .allows = [](std::span<const int32_t> text,
                   int32_t id) { return id % 2 == static_cast<int32_t>(text.size() % 2); },
      .forces = {}});
}

// Chains of the GPU; a mask that is other behind each token; chosen by the host beside others;
// drawn, twice.
engine::GenerateOptions options_of(const Engine& engine, uint32_t i) {
  engine::GenerateOptions out;
  out.max_tokens = 12;
  out.sampling.seed = i;
  if (i == 0) out.sampling.temperature = 0;
  if (i == 1) out.filter = alternating(engine);
  if (i == 2) out.sampling.mirostat = {.version = 2, .tau = 4, .eta = 0.5f};
  return out;
}

std::vector<std::vector<int32_t>> texts(Engine& engine, std::span<const uint32_t> which) {
  engine::Scheduler scheduler(engine);
  std::vector<std::vector<int32_t>> out(kTexts);
  size_t n_ended = 0;
  for (const uint32_t i : which) {
    base::deliver<base::Result<engine::GenerateStats>>(
        scheduler.generate(test_prompt(5 + 20 * i, i, engine.config().vocab), options_of(engine, i),
                           {},
                           [&out, i](const kernels::Chosen& chosen) {
                             out[i].push_back(chosen.id);
                             return true;
                           }),
        [&](const base::Result<engine::GenerateStats>& done) {
          CHECK_MESSAGE(done.has_value(), (done ? "" : done.error().text()));
          ++n_ended;
        });
  }
  while (n_ended < which.size()) engine.poll();
  return out;
}

// Logits; texts one by one and together, and one again, of whose beginning the cache knows.
void check_equal(Engine& engine, Engine& cpu) {
  CHECK(nmse(logits(engine), logits(cpu)) <= kLimit);
  std::vector<uint32_t> all(kTexts);
  std::iota(all.begin(), all.end(), 0u);
  std::vector<std::vector<int32_t>> wanted;
  for (const uint32_t i : all) {
    wanted.push_back(texts(cpu, {{i}})[i]);
    CHECK(wanted.back().size() == 12);
    CHECK(texts(engine, {{i}})[i] == wanted.back());
  }
  CHECK(texts(engine, all) == wanted);
  CHECK(texts(engine, {{0}})[0] == wanted[0]);
}

}  // namespace

TEST_CASE("a mixture whose experts are on the CPU gives what the CPU gives alone") {
  struct {
    const char* name;
    Where where;
    uint32_t n_experts;  // layers of them
  } const cases[] = {{"small_qwen3moe-bf16", {.cpu_experts = 1}, 1},
                     {"small_qwen3moe-bf16", {.cpu_experts = engine::kAllLayers}, 2},
                     {"small_qwen3moe-bf16", {.cpu_experts = 2, .gpu_layers = 1}, 1},
                     // A shared expert beside them, which stays; states.
                     {"small_deepseek3-bf16", {.cpu_experts = engine::kAllLayers}, 1},
                     {"small_jamba-bf16", {.cpu_experts = engine::kAllLayers}, 1}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    auto device = open_gpu();
    if (!device) return;
    const auto engine = load(c.name, std::move(device), c.where);
    const engine::Placement& placement = engine->placement();
    CHECK(placement.cpu_experts == c.n_experts);
    CHECK(placement.layers_on(true) == c.where.gpu_layers.value_or(2));
    CHECK(describe(placement, "X").find("computed on the CPU") != std::string::npos);
    const auto told = Engine::forecast(model(c.name), engine->options(), &engine->device()->info());
    REQUIRE_MESSAGE(told.has_value(), told.error().text());
    CHECK(placement.experts == told->experts);
    CHECK(placement.experts.weights > 0);
    for (const bool gpu : {false, true}) CHECK(placement.memory_on(gpu) == told->memory_on(gpu));
    CHECK(engine->memory().total() ==
          placement.memory_on(false).total() + placement.memory_on(true).total());
    const auto cpu = load(c.name, nullptr);
    check_equal(*engine, *cpu);
  }
}

TEST_CASE("as few experts as memory wants go to the CPU, and layers only behind all of them") {
  const std::string name = "small_qwen3moe-bf16";
  auto device = open_gpu();
  if (!device) return;
  const Where automatic{.cpu_experts = std::nullopt};
  const auto needs = [&](uint32_t cpu_experts) {
    auto watched = std::make_unique<SmallDevice>(open_gpu(), UINT64_MAX);
    const SmallDevice& watch = *watched;
    const auto engine = load(name, std::move(watched), Where{cpu_experts});
    return watch.most();
  };
  const auto whole = load(name, std::move(device), automatic);
  CHECK(whole->placement().cpu_experts == 0);
  CHECK(!whole->placement().on_both());

  const auto cpu = load(name, nullptr);
  const std::vector<float> wanted = logits(*cpu);
  for (const uint32_t n : {1u, 2u}) {
    CAPTURE(n);
    const auto small = load(name, std::make_unique<SmallDevice>(open_gpu(), needs(n)), automatic);
    CHECK(small->placement().cpu_experts == n);
    CHECK(small->placement().layers_on(true) == 2);
    CHECK(small->placement().why.find("no more fits") != std::string::npos);
    CHECK(nmse(logits(*small), wanted) <= kLimit);
  }
  const auto smaller =
      load(name, std::make_unique<SmallDevice>(open_gpu(), needs(2) - 1), automatic);
  CHECK(smaller->placement().cpu_experts == 1);
  CHECK(smaller->placement().layers_on(true) == 1);
  CHECK(nmse(logits(*smaller), wanted) <= kLimit);

  // A number that is asked for stays, and a model that may not be parted is not.
  const auto asked = load(name, std::make_unique<SmallDevice>(open_gpu(), needs(1) - 1), {1});
  CHECK(asked->placement().layers_on(true) == 1);
  CHECK(asked->placement().cpu_experts == 0);
  const auto refused =
      try_load(name, std::make_unique<SmallDevice>(open_gpu(), needs(2) / 2), automatic);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == base::ErrorCode::kOutOfMemory);
}
