// Models that are partly on an adapter (software Vulkan will do) and partly on the CPU give what
// they give on the CPU alone; how many layers fit is found by asking the device.
#include <doctest/doctest.h>

#include <algorithm>
#include <span>

#include "engine/scheduler.h"
#include "engine/testing/load_engine.h"
#include "engine/testing/losable_device.h"
#include "engine/testing/prompts.h"
#include "engine/testing/small_device.h"
#include "models/testing/tiny_model.h"
#include "models/testing/tiny_recurrent.h"

using namespace puna;
using engine::Engine;
using engine::test::open_gpu;
using engine::test::SmallDevice;
using engine::test::test_prompt;

namespace {

// Exact numerics, an f32 cache: two devices agree to rounding.
constexpr double kLimit = 1e-6;

fixtures::TinyShape shape_of(const char* architecture, uint32_t n_layers = 2) {
  fixtures::TinyShape shape;
  shape.architecture = architecture;
  shape.n_layers = n_layers;
  return shape;
}

formats::ModelFile model_of(const char* architecture) {
  const fixtures::TinyShape shape = shape_of(architecture);
  return std::string_view(architecture) == "qwen35" ? fixtures::tiny_recurrent_model(shape)
                                                    : fixtures::tiny_model(shape);
}

base::Result<std::unique_ptr<Engine>> load(formats::ModelFile file,
                                           std::unique_ptr<gpu::Device> device,
                                           std::optional<uint32_t> gpu_layers,
                                           engine::EngineOptions options = {},
                                           kernels::Numerics numerics = kernels::Numerics::kExact) {
  options.numerics = numerics;
  options.kv_type = kernels::KvType::kF32;
  options.n_threads = 2;
  options.gpu_layers = gpu_layers;
  return engine::test::try_load_engine(std::move(file), std::move(device), std::move(options));
}

std::vector<float> logits(Engine& engine, const std::vector<int32_t>& tokens) {
  std::vector<float> out(tokens.size() * engine.n_out());
  const auto done = base::run_until(engine.logits(0, tokens, out), [&] { engine.poll(); });
  REQUIRE_MESSAGE(done.has_value(), done.error().text());
  return out;
}

std::vector<int32_t> greedy(Engine& engine, const std::vector<int32_t>& tokens, uint32_t n) {
  std::vector<int32_t> text;
  engine::GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_tokens = n;
  const auto stats =
      base::run_until(engine::Scheduler(engine).generate(tokens, options, {},
                                                         [&](const kernels::Chosen& chosen) {
                                                           text.push_back(chosen.id);
                                                           return true;
                                                         }),
                      [&] { engine.poll(); });
  REQUIRE_MESSAGE(stats.has_value(), stats.error().text());
  return text;
}

// Of the logits of more rows than one run of the head takes.
double nmse(Engine& engine, Engine& reference) {
  const std::vector<int32_t> tokens = test_prompt(40);
  const std::vector<float> got = logits(engine, tokens), wanted = logits(reference, tokens);
  double error = 0, norm = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    error += std::pow(double{got[i]} - double{wanted[i]}, 2);
    norm += std::pow(double{wanted[i]}, 2);
  }
  return error / norm;
}

// These, a text, and the same text after another one.
void check_equal(Engine& split, Engine& cpu) {
  CHECK(nmse(split, cpu) <= kLimit);
  const std::vector<int32_t> tokens = test_prompt(40);
  const std::vector<int32_t> text = greedy(cpu, tokens, 12);
  CHECK(greedy(split, tokens, 12) == text);
  greedy(split, test_prompt(30), 5);
  CHECK(greedy(split, tokens, 12) == text);
}

}  // namespace

TEST_CASE("a model split over GPU and CPU gives what the CPU gives alone") {
  for (const char* architecture : {"llama", "gemma3", "gemma4", "qwen35"}) {
    CAPTURE(architecture);
    auto device = open_gpu();
    if (!device) return;
    const auto model = [&] { return model_of(architecture); };
    auto split = load(model(), std::move(device), 1);
    REQUIRE_MESSAGE(split.has_value(), split.error().text());
    const engine::Placement& placement = (*split)->placement();
    CHECK(placement.layers_on(true) == 1);
    const auto told = Engine::forecast(model(), (*split)->options(), &(*split)->device()->info());
    REQUIRE_MESSAGE(told.has_value(), told.error().text());
    for (const bool gpu : {false, true}) {
      CHECK(placement.memory_on(gpu).weights > 0);
      CHECK(placement.memory_on(gpu) == told->memory_on(gpu));
    }
    auto cpu = load(model(), nullptr, {});
    check_equal(**split, **cpu);
  }
}

// The last product of the CPU's part gives no logits, whatever it reads.
TEST_CASE("a model split over GPU and CPU may be multiplied by int8 activations") {
  auto device = open_gpu();
  if (!device) return;
  const auto model = [] {
    fixtures::TinyShape shape = shape_of("llama");
    shape.types = {{"ffn_down.weight", quant::Type::kQ8_0}};
    return fixtures::tiny_model(shape);
  };
  auto split = load(model(), std::move(device), 1, {}, kernels::Numerics::kFast);
  REQUIRE_MESSAGE(split.has_value(), split.error().text());
  auto cpu = load(model(), nullptr, {});
  CHECK(nmse(**split, **cpu) <= 3e-4);  // rounding to int8 gives 7e-5
}

TEST_CASE("as many layers go to the GPU as it has memory for, and the placement says so") {
  constexpr uint32_t kLayers = 4;
  const auto model = [] { return fixtures::tiny_model(shape_of("llama", kLayers)); };
  auto device = open_gpu();
  if (!device) return;
  auto whole = load(model(), std::move(device), {});
  REQUIRE_MESSAGE(whole.has_value(), whole.error().text());
  CHECK((*whole)->placement().layers_on(true) == kLayers);
  const plan::MemoryUse all = (*whole)->memory();
  auto cpu = load(model(), nullptr, {});

  // Two layers too small for all of it.
  const uint64_t layer = (all.weights + all.kv) / kLayers;
  const uint64_t limit = all.weights + all.kv + all.arena + all.staging - 2 * layer;
  auto split = load(model(), std::make_unique<SmallDevice>(open_gpu(), limit), {});
  REQUIRE_MESSAGE(split.has_value(), split.error().text());
  const engine::Placement& placement = (*split)->placement();
  CHECK(placement.layers_on(true) >= 1);
  CHECK(placement.layers_on(true) < kLayers);
  CHECK(placement.why.find("no more fits") != std::string::npos);
  CHECK(describe(placement, "X").find("of 4 layers and the output layer are on X") !=
        std::string::npos);
  check_equal(**split, **cpu);

  const auto refused = load(model(), std::make_unique<SmallDevice>(open_gpu(), all.arena / 2), {});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == base::ErrorCode::kOutOfMemory);

  // Where nothing is to go to the CPU it is an error.
  engine::EngineOptions whole_only;
  whole_only.fit.layers = false;
  const auto cannot =
      load(model(), std::make_unique<SmallDevice>(open_gpu(), limit), {}, whole_only);
  REQUIRE_FALSE(cannot.has_value());
  CHECK(cannot.error().code == base::ErrorCode::kOutOfMemory);
}

TEST_CASE("memory is left free where that is asked for, and contexts give way before layers") {
  constexpr uint32_t kLayers = 4;
  const auto model = [] {
    fixtures::TinyShape shape = shape_of("llama", kLayers);
    shape.context = 4096;
    return fixtures::tiny_model(shape);
  };
  auto device = open_gpu();
  if (!device) return;
  engine::EngineOptions options;
  options.n_sequences = 4;
  options.step_tokens = kernels::kMaxStepTokens;  // large ones would give way before all else
  auto whole = load(model(), std::move(device), {}, options);
  REQUIRE_MESSAGE(whole.has_value(), whole.error().text());
  CHECK((*whole)->context() == 4096);
  const plan::MemoryUse all = (*whole)->memory();
  // Room for all, the ring of the load, and a bit.
  const uint64_t enough = all.total() + (uint64_t{16} << 20);
  const auto loaded = [&](uint64_t limit) {
    auto engine = load(model(), std::make_unique<SmallDevice>(open_gpu(), limit), {}, options);
    REQUIRE_MESSAGE(engine.has_value(), engine.error().text());
    return *std::move(engine);
  };
  CHECK(loaded(enough)->placement().layers_on(true) == kLayers);
  options.fit.spare_bytes = uint64_t{16} << 20;
  const auto spared = loaded(enough - (uint64_t{1} << 20));
  CHECK(spared->placement().layers_on(true) < kLayers);
  CHECK(spared->placement().why.find("16 MiB beside it") != std::string::npos);

  options.fit.least_context = 1024;
  const auto shorter = loaded(enough - all.kv / 4);
  CHECK(shorter->placement().layers_on(true) == kLayers);
  CHECK(shorter->context() == 2048);
  options.fit.least_context = 3000;
  CHECK(loaded(enough - all.kv / 4)->context() == 3000);
  // What was asked for stays.
  options.context = 4096;
  CHECK(loaded(enough - all.kv / 4)->context() == 4096);
}

namespace {

engine::MoreGpus more_gpus(std::vector<double> shares, uint64_t bytes = UINT64_MAX) {
  engine::MoreGpus out;
  out.open = [bytes]() -> base::Result<engine::MoreGpus::Devices> {
    return engine::MoreGpus::Devices{std::make_shared<SmallDevice>(open_gpu(), bytes)};
  };
  out.shares = std::move(shares);
  return out;
}
engine::EngineOptions over_gpus(std::vector<double> shares) {
  engine::EngineOptions out;
  out.more_gpus = more_gpus(std::move(shares));
  return out;
}

}  // namespace

TEST_CASE("a model split over two GPUs gives what the CPU gives alone") {
  for (const char* architecture : {"llama", "gemma3", "gemma4", "qwen35"}) {
    CAPTURE(architecture);
    auto device = open_gpu();
    if (!device) return;
    const auto model = [&] { return model_of(architecture); };
    auto split = load(model(), std::move(device), {}, over_gpus({1, 1}));
    REQUIRE_MESSAGE(split.has_value(), split.error().text());
    const std::vector<engine::Stage>& stages = (*split)->placement().stages;
    REQUIRE(stages.size() == 2);
    CHECK(stages[0].device == 1);
    CHECK(stages[0].n_layers == 1);
    CHECK(stages[1].device == 0);
    CHECK(stages[1].first_layer == 1);
    auto cpu = load(model(), nullptr, {});
    check_equal(**split, **cpu);
  }
}

namespace {

// Counts how often the host reads what it has computed, and how much.
class ReadDevice : public engine::test::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  void read_back(gpu::BufferId buffer, uint64_t offset, std::span<std::byte> out,
                 gpu::ReadDone done) override {
    ++n_reads;
    n_bytes += out.size();
    ForwardingDevice::read_back(buffer, offset, out, std::move(done));
  }
  int n_reads = 0;
  size_t n_bytes = 0;
};

}  // namespace

TEST_CASE("a text goes round two linked GPUs without the host, but for recurrent states") {
  for (const char* architecture : {"llama", "gemma4", "qwen35"}) {
    CAPTURE(architecture);
    auto devices = engine::test::open_two_sharing();
    if (devices.empty()) return;
    engine::EngineOptions options;
    const auto second = std::make_shared<ReadDevice>(std::move(devices[1]));
    options.more_gpus.open = [&]() -> base::Result<engine::MoreGpus::Devices> {
      return engine::MoreGpus::Devices{second};
    };
    options.more_gpus.shares = {1, 1};
    auto split = load(model_of(architecture), std::move(devices[0]), {}, options);
    REQUIRE_MESSAGE(split.has_value(), split.error().text());
    auto cpu = load(model_of(architecture), nullptr, {});
    const std::vector<int32_t> tokens = test_prompt(40);
    const int before = second->n_reads;
    second->n_bytes = 0;
    CHECK(greedy(**split, tokens, 24) == greedy(**cpu, tokens, 24));
    const int n_reads = second->n_reads - before;
    // That the prompt has run, and with states each token. What they hand over goes from device to
    // device.
    CHECK(second->n_bytes == n_reads * sizeof(uint32_t));
    if (std::string_view(architecture) == "qwen35") {
      CHECK(n_reads >= 24);
    } else {
      CHECK(n_reads < 4);
    }
  }
}

TEST_CASE("the loss of one of two GPUs that share a model ends a text with that error") {
  auto device = open_gpu();
  if (!device) return;
  engine::EngineOptions options;
  int n_left = 0;  // submits until it is lost; 0: it stays
  const auto second = std::make_shared<engine::test::LosableDevice>(open_gpu(), [&n_left] {
    if (n_left > 0) {
      --n_left;
      return n_left == 0;
    }
    return false;
  });
  options.more_gpus.open = [&]() -> base::Result<engine::MoreGpus::Devices> {
    return engine::MoreGpus::Devices{second};
  };
  options.more_gpus.shares = {1, 1};
  auto split = load(model_of("llama"), std::move(device), {}, options);
  REQUIRE_MESSAGE(split.has_value(), split.error().text());
  n_left = 6;  // that of the prompt, and then some
  engine::GenerateOptions generate;
  generate.max_tokens = 24;
  size_t n_written = 0;
  const auto done =
      base::run_until(engine::Scheduler(**split).generate(test_prompt(40), generate, {},
                                                          [&](const kernels::Chosen&) {
                                                            ++n_written;
                                                            return true;
                                                          }),
                      [&] { (*split)->poll(); });
  REQUIRE(!done.has_value());
  CHECK(done.error().code == base::ErrorCode::kDeviceLost);
  CHECK(n_written < 24);
}

// While one card is at a step the other is at the one before.
TEST_CASE("prompts of several steps over two GPUs give what the CPU gives alone") {
  for (const char* architecture : {"llama", "qwen35"}) {
    CAPTURE(architecture);
    auto device = open_gpu();
    if (!device) return;
    fixtures::TinyShape shape = shape_of(architecture);
    shape.context = 2048;
    const auto model = [&] {
      return shape.architecture == "qwen35" ? fixtures::tiny_recurrent_model(shape)
                                            : fixtures::tiny_model(shape);
    };
    auto split = load(model(), std::move(device), {}, over_gpus({1, 1}));
    REQUIRE_MESSAGE(split.has_value(), split.error().text());
    auto cpu = load(model(), nullptr, {});
    // The second one goes on behind a part of the first.
    for (const size_t n : {1300, 700, 1500}) {
      CAPTURE(n);
      CHECK(greedy(**split, test_prompt(n), 6) == greedy(**cpu, test_prompt(n), 6));
    }
  }
}

TEST_CASE("layers are on the CPU and two GPUs where that is asked for") {
  auto device = open_gpu();
  if (!device) return;
  const auto model = [] { return fixtures::tiny_model(shape_of("gemma3", 4)); };
  auto split = load(model(), std::move(device), 3, over_gpus({2, 1}));
  REQUIRE_MESSAGE(split.has_value(), split.error().text());
  const std::vector<engine::Stage>& stages = (*split)->placement().stages;
  REQUIRE(stages.size() == 3);
  CHECK_FALSE(stages[0].on_gpu);
  CHECK(stages[1].device == 1);
  CHECK(stages[1].n_layers == 1);
  CHECK(stages[2].n_layers == 2);
  auto cpu = load(model(), nullptr, {});
  check_equal(**split, **cpu);
  const auto wrong = load(model(), open_gpu(), 3, over_gpus({1, 1, 1}));
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message.find("3 shares, but 2 GPUs") != std::string::npos);
}

TEST_CASE("a GPU takes the layers that the one before has no room for, and the CPU what is left") {
  auto device = open_gpu();
  if (!device) return;
  const auto model = [] { return fixtures::tiny_model(shape_of("llama", 4)); };
  engine::EngineOptions options;
  options.n_sequences = 2;
  const auto bytes_of = [&](uint32_t gpu_layers) {
    auto measured = std::make_unique<SmallDevice>(open_gpu(), UINT64_MAX);
    const SmallDevice& seen = *measured;
    REQUIRE(load(model(), std::move(measured), gpu_layers, options));
    return seen.most();
  };
  const uint64_t two = bytes_of(2);
  auto cpu = load(model(), nullptr, {}, options);
  // All fits one: no second one is opened.
  engine::EngineOptions closed = options;
  closed.more_gpus.open = []() -> base::Result<engine::MoreGpus::Devices> {
    FAIL("it was opened");
    return {};
  };
  auto whole = load(model(), std::move(device), {}, closed);
  REQUIRE(whole);
  CHECK((*whole)->placement().stages.size() == 1);
  for (const uint64_t second : {UINT64_MAX, two / 2}) {
    engine::EngineOptions several = options;
    several.more_gpus = more_gpus({}, second);
    auto split =
        load(model(), std::make_unique<SmallDevice>(open_gpu(), two), {}, std::move(several));
    REQUIRE_MESSAGE(split.has_value(), split.error().text());
    const engine::Placement& placement = (*split)->placement();
    CAPTURE(describe(placement, "X"));
    CHECK(placement.stages.back().n_layers == 2);
    CHECK(placement.stages.back().device == 0);
    CHECK(placement.layers_on(true) == (second == UINT64_MAX ? 4 : 2));
    CHECK(describe(placement, "X").find("2 of 4 layers and the output layer are on X") == 0);
    CHECK(placement.why.find("no room") != std::string::npos);
    check_equal(**split, **cpu);
  }
}
