// Where models may be cut, without a GPU.
#include "engine/placement.h"

#include <algorithm>

#include "base/task.h"
#include "doctest/doctest.h"
#include "engine/blueprint.h"
#include "engine/engine.h"
#include "formats/open.h"
#include "kernels/testing/devices.h"
#include "models/models.h"
#include "models/testing/tiny_model.h"
#include "models/testing/tiny_recurrent.h"
#include "plan/fuse.h"
#include "plan/gpu_plan.h"
#include "plan/host_experts.h"
#include "plan/split.h"

namespace puna::engine {
namespace {

plan::Graph graph_of(const formats::ModelFile& file) {
  auto config = models::read_config(file);
  REQUIRE_MESSAGE(config.has_value(), config.error().text());
  auto graph = models::build(file, *config);
  REQUIRE_MESSAGE(graph.has_value(), graph.error().text());
  return *std::move(graph);
}

plan::Graph tiny_graph(const char* architecture, uint32_t n_layers) {
  fixtures::TinyShape shape;
  shape.architecture = architecture;
  shape.n_layers = n_layers;
  return graph_of(fixtures::tiny_model(shape));
}

TEST_CASE("a model of layers is cut before any of them, and only the residual stream crosses") {
  for (const char* architecture : {"llama", "gemma3", "olmo2", "phi3", "qwen3"}) {
    CAPTURE(architecture);
    const plan::Graph graph = tiny_graph(architecture, 4);
    CHECK(plan::n_layers(graph) == 4);
    CHECK(plan::cuts(graph) == std::vector<uint32_t>{1, 2, 3});
    const plan::Split parts = plan::split(graph, 3);
    CHECK(parts.first.hands_over == std::vector<plan::ValueId>{graph.hidden});
    CHECK(parts.rest.takes_over == parts.first.hands_over);
    CHECK(parts.first.ops.size() + parts.rest.ops.size() == graph.ops.size());
    // Every weight is on one side, but for the embedding that the output layer shares.
    for (size_t i = 0; i < graph.weights.size(); ++i) {
      const uint32_t sides = (parts.first.weights[i].rows > 0) + (parts.rest.weights[i].rows > 0);
      CHECK(sides == (graph.weights[i].label == "token_embd.weight" ? 2 : 1));
    }
    CHECK(parts.first.kv[3].n_kv_heads == 0);
    CHECK(parts.rest.kv[2].n_kv_heads == 0);
    CHECK(parts.rest.kv[3].n_kv_heads > 0);
  }
}

TEST_CASE("recurrent layers take their states with them") {
  for (const char* architecture : {"lfm2", "falcon-h1", "jamba", "qwen35"}) {
    CAPTURE(architecture);
    fixtures::TinyShape shape;
    shape.architecture = architecture;
    const plan::Graph graph = graph_of(fixtures::tiny_recurrent_model(shape));
    REQUIRE(plan::cuts(graph) == std::vector<uint32_t>{1});
    const plan::Split parts = plan::split(graph, 1);
    for (size_t i = 0; i < graph.states.size(); ++i) {
      CHECK((parts.first.states[i].n == 0) != (parts.rest.states[i].n == 0));
    }
  }
}

TEST_CASE("matrices of experts and of heads take no place in the part that has none of them") {
  for (const char* name : {"small_qwen3moe-bf16", "small_deepseek3-bf16", "small_minicpm3-bf16"}) {
    CAPTURE(name);
    const auto file = base::run_until(
        formats::open_model(std::string("tests/goldens/") + name, {.map = false}), [] {});
    REQUIRE_MESSAGE(file.has_value(), file.error().text());
    const plan::Graph graph = graph_of(*file);
    const plan::Graph rest = plan::split(graph, 1).rest;
    plan::CacheConfig cache;
    cache.n_pages = cache.pages_per_sequence = 1;
    const auto plan = plan::plan_gpu(rest, cache, {}, {});
    REQUIRE_MESSAGE(plan.has_value(), plan.error().text());
    for (size_t i = 0; i < rest.weights.size(); ++i)
      CHECK(plan->weights[i].chunks.empty() == (rest.weights[i].rows == 0));
  }
}

plan::Graph golden_graph(const char* name) {
  const auto file = base::run_until(
      formats::open_model(std::string("tests/goldens/") + name, {.map = false}), [] {});
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  return graph_of(*file);
}

TEST_CASE("experts that go to the CPU take their weights along, and nothing else goes") {
  for (const char* name : {"small_qwen3moe-bf16", "small_deepseek3-bf16", "small_jamba-bf16"}) {
    CAPTURE(name);
    const plan::Graph graph = golden_graph(name);
    const std::vector<uint32_t> layers = plan::expert_layers(graph);
    CHECK(layers == (std::string_view(name).starts_with("small_qwen3moe")
                         ? std::vector<uint32_t>{0, 1}
                         : std::vector<uint32_t>{1}));
    CHECK(plan::host_experts(graph, layers.front()).host.ops.empty());
    const plan::HostExperts parts = plan::host_experts(graph, layers.back() + 1);
    CHECK(parts.host.ops.size() == layers.size());
    CHECK(parts.device.ops.size() == graph.ops.size());
    for (size_t i = 0; i < graph.weights.size(); ++i) {
      const bool routed = graph.weights[i].label.find("_exps") != std::string::npos;
      CHECK(parts.host.weights[i].rows == (routed ? graph.weights[i].rows : 0));
      CHECK(parts.device.weights[i].rows == (routed ? 0 : graph.weights[i].rows));
    }
    plan::CacheConfig cache;
    cache.n_pages = cache.pages_per_sequence = 1;
    const plan::Graph fused = plan::fuse(parts.device);
    const auto plan = plan::plan_gpu(fused, cache, {}, {});
    REQUIRE_MESSAGE(plan.has_value(), plan.error().text());
    // The last layer's are in the head.
    for (const auto& c : plan->body) CHECK(c.host_calls.size() == layers.size() - 1);
    for (const auto& c : plan->head) {
      REQUIRE(c.host_calls.size() == 1);
      CHECK(c.host_calls[0].index == layers.size() - 1);
    }
    CHECK(plan::describe(*plan).find("on the CPU") != std::string::npos);
  }
}

TEST_CASE("a number of layers whose experts go to the CPU is checked against the model") {
  const plan::Graph graph = golden_graph("small_qwen3moe-bf16");
  CHECK(end_of_cpu_experts(graph, 0).value() == 0);
  CHECK(end_of_cpu_experts(graph, 1).value() == 1);
  CHECK(end_of_cpu_experts(graph, kAllLayers).value() == 2);
  const auto refused = end_of_cpu_experts(graph, 3);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == base::ErrorCode::kInvalidArgument);
  CHECK(refused.error().message.find("--cpu-experts 3 is more than the 2 layers") !=
        std::string::npos);
  // Of layers without any none are counted.
  CHECK(end_of_cpu_experts(golden_graph("small_deepseek3-bf16"), 1).value() == 2);
  const plan::Graph dense = tiny_graph("llama", 2);
  CHECK(end_of_cpu_experts(dense, 0).has_value());
  for (const uint32_t n : {1u, kAllLayers}) {
    const auto none = end_of_cpu_experts(dense, n);
    REQUIRE_FALSE(none.has_value());
    CHECK(none.error().message.find("the model has none") != std::string::npos);
  }
}

TEST_CASE("what experts on the CPU take is known before the model is loaded") {
  const auto file = base::run_until(
      formats::open_model("tests/goldens/small_qwen3moe-bf16", {.map = false}), [] {});
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  const gpu::DeviceInfo device;
  EngineOptions options;
  const auto told = [&](std::optional<uint32_t> cpu_experts, std::optional<uint64_t> bytes = {}) {
    options.cpu_experts = cpu_experts;
    auto out = Engine::forecast(*file, options, &device, bytes);
    REQUIRE_MESSAGE(out.has_value(), out.error().text());
    return *std::move(out);
  };
  const Placement none = told(0);
  CHECK(!none.on_both());
  CHECK(none.memory_on(false).total() == 0);
  uint64_t before = none.memory_on(true).total();
  for (const uint32_t n : {1u, 2u}) {
    CAPTURE(n);
    const Placement some = told(n);
    CHECK(some.cpu_experts == n);
    CHECK(some.memory_on(false).weights > 0);
    // As few as what may be taken wants.
    const Placement fits = told({}, before - 1);
    CHECK(fits.cpu_experts == n);
    CHECK(fits.stages.size() == 1);
    CHECK(fits.experts == some.experts);
    before = some.memory_on(true).total();
    CHECK(told({}, before).cpu_experts == n);
  }
  const Placement smaller = told({}, before - 1);
  CHECK(smaller.stages.size() == 2);
  CHECK(smaller.cpu_experts == 1);
  CHECK(told({}).cpu_experts == 0);
  options.gpu_layers = 1;
  CHECK(told(2).cpu_experts == 1);
  CHECK(told(1).cpu_experts == 0);
  options.gpu_layers.reset();
  options.fit.layers = false;
  CHECK(!Engine::forecast(*file, options, &device, before).has_value());
}

TEST_CASE("layers that share keys stay together, and what else later layers read crosses too") {
  const plan::Graph graph = tiny_graph("gemma4", 5);  // layers 2, 3 and 4 read the keys of 0 and 1
  const std::vector<uint32_t> cuts = plan::cuts(graph);
  CHECK(std::ranges::all_of(cuts, [](uint32_t layer) { return layer == 1; }));
  const auto refused = first_gpu_layer(graph, 2);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == base::ErrorCode::kInvalidArgument);
  CHECK(refused.error().message.find("--gpu-layers 2") != std::string::npos);
  const plan::Graph alone = tiny_graph("gemma4", 2);
  CHECK(plan::split(alone, 1).first.hands_over.size() == 2);
}

TEST_CASE("a number of layers is checked against the model") {
  const plan::Graph graph = tiny_graph("llama", 3);
  CHECK(first_gpu_layer(graph, 0).value() == 3);
  CHECK(first_gpu_layer(graph, 1).value() == 2);
  CHECK(first_gpu_layer(graph, 3).value() == 0);
  const auto refused = first_gpu_layer(graph, 4);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("the model's 3 layers") != std::string::npos);
}

}  // namespace
TEST_CASE("what a model takes is known before it is loaded") {
  fixtures::TinyShape shape;
  shape.n_layers = 4;
  for (const bool recurrent : {false, true}) {
    CAPTURE(recurrent);
    shape.architecture = recurrent ? "qwen35" : "llama";
    const auto file = [&] {
      return recurrent ? fixtures::tiny_recurrent_model(shape) : fixtures::tiny_model(shape);
    };
    EngineOptions options;
    options.n_threads = 2;
    options.n_sequences = 20;
    options.cache_tokens = 1000;
    const auto told = Engine::forecast(file(), options, nullptr);
    REQUIRE_MESSAGE(told.has_value(), told.error().text());
    const auto engine = base::run_until(Engine::load(file(), nullptr, options), [] {});
    REQUIRE_MESSAGE(engine.has_value(), engine.error().text());
    REQUIRE(told->stages.size() == 1);
    CHECK(told->stages[0].n_layers == told->n_layers);
    CHECK(told->stages[0].memory == (*engine)->memory());
    CHECK(told->stages[0].memory.weights > 0);
  }
}

TEST_CASE("as many layers go to the GPU as fit in what may be taken of it") {
  fixtures::TinyShape shape;
  shape.n_layers = 4;
  const formats::ModelFile file = fixtures::tiny_model(shape);
  EngineOptions options;
  const gpu::DeviceInfo device;
  const auto all = Engine::forecast(file, options, &device);
  REQUIRE_MESSAGE(all.has_value(), all.error().text());
  CHECK(all->layers_on(true) == 4);
  const uint64_t whole = all->memory_on(true).total();
  const auto fits = Engine::forecast(file, options, &device, whole);
  REQUIRE_MESSAGE(fits.has_value(), fits.error().text());
  CHECK(fits->stages.size() == 1);
  const auto fewer = Engine::forecast(file, options, &device, whole - 1);
  REQUIRE_MESSAGE(fewer.has_value(), fewer.error().text());
  REQUIRE(fewer->stages.size() == 2);
  CHECK(fewer->layers_on(true) == 3);
  CHECK(fewer->layers_on(false) == 1);
  CHECK(fewer->memory_on(true).total() < whole);
  CHECK(fewer->memory_on(false).weights > 0);
  const auto none = Engine::forecast(file, options, &device, 1000);
  REQUIRE(!none.has_value());
  CHECK(none.error().code == base::ErrorCode::kOutOfMemory);
  options.gpu_layers = 1;
  CHECK(Engine::forecast(file, options, &device)->layers_on(true) == 1);
  options.gpu_layers = 9;
  CHECK(Engine::forecast(file, options, &device).error().code == base::ErrorCode::kInvalidArgument);
}

TEST_CASE(
    "layers with windows have fewer pages where a context is long, and as many as one text needs") {
  fixtures::TinyShape shape;
  shape.architecture = "gemma3";
  shape.context = 65536;
  const formats::ModelFile file = fixtures::tiny_model(shape);
  const auto kv_of = [&](uint32_t context, std::optional<uint64_t> window_tokens) {
    engine::EngineOptions options;
    options.context = context;
    options.window_cache_tokens = window_tokens;
    const auto told = Engine::forecast(file, options, nullptr);
    REQUIRE_MESSAGE(told.has_value(), told.error().text());
    return told->memory_on(false).kv;
  };
  CHECK(kv_of(8192, {}) == 2 * kv_of(4096, {}));  // nothing would be saved
  CHECK(kv_of(65536, {}) < 8 * kv_of(8192, {}) * 2 / 3);
  CHECK(kv_of(65536, 1024) < kv_of(65536, {}));
  engine::EngineOptions options;
  options.window_cache_tokens = 32;
  CHECK(Engine::forecast(file, options, nullptr).error().message.find("layers with windows") !=
        std::string::npos);
}

TEST_CASE("large steps are planned for where matrix units are, and room for the whole model") {
  fixtures::TinyShape shape;
  shape.context = 4096;
  const formats::ModelFile file = fixtures::tiny_model(shape);
  const gpu::DeviceInfo device = kernels::test::with_matrix_units();
  const auto arena = [&](const EngineOptions& options, const gpu::DeviceInfo* on,
                         std::optional<uint64_t> bytes = {}) {
    const auto told = Engine::forecast(file, options, on, bytes);
    REQUIRE_MESSAGE(told.has_value(), told.error().text());
    return told->memory_on(true).arena;
  };
  EngineOptions small, large;
  small.step_tokens = kernels::kMaxStepTokens;
  large.step_tokens = kLargeStepTokens;
  const uint64_t least = arena(small, &device), most = arena(large, &device);
  CHECK(most > 2 * least);
  CHECK(arena({}, &device) == most);
  const gpu::DeviceInfo without;
  CHECK(arena({}, &without) == arena(small, &without));
  // As much as it takes, and a byte less.
  const uint64_t whole = Engine::forecast(file, large, &device)->memory_on(true).total();
  CHECK(arena({}, &device, whole) == most);
  CHECK(arena({}, &device, whole - 1) == least);
  const auto same_as_small = [&](auto change) {
    EngineOptions options, beside = small;
    change(options);
    change(beside);
    CHECK(arena(options, &device) == arena(beside, &device));
  };
  same_as_small([](EngineOptions& options) { options.context = 1024; });
  same_as_small([](EngineOptions& options) { options.gpu_layers = 1; });
  same_as_small([](EngineOptions& options) { options.turn_ms = 10; });
  same_as_small([](EngineOptions& options) { options.all_logits = true; });
  same_as_small([](EngineOptions& options) { options.more_gpus.shares = {1}; });
}

}  // namespace puna::engine
