// The models of tests/goldens/ through the whole core: logits of every position and the greedy text
// are those of the float64 reference. The sources answer late, as a page's do, so loading really
// waits. On the CPU device natively and, from the same code, as WebAssembly under Node; on the
// first native adapter (software Vulkan will do) with all it offers and with the WebGPU baseline.
// All agree with one reference to far below the limit, and so with each other.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/task.h"
#include "engine/scheduler.h"
#include "formats/folder.h"
#include "formats/open.h"
#include "gpu/native/native.h"
#include "io/byte_source.h"
#include "io/test_sources.h"

using namespace puna;

namespace {

// Exact numerics against the stored weights; f16 weights may be multiplied with f16 activations.
constexpr double kExactLimit = 1e-6;
constexpr double kExactF16Limit = 1e-4;
// Fast numerics: int8 activations and an f16 cache.
constexpr double kFastLimit = 2e-3;

std::string read_text(const std::string& path) {
  auto source = io::open_file(path);
  REQUIRE_MESSAGE(source.has_value(), source.error().text());
  std::string text((*source)->size(), '\0');
  const auto read =
      base::run_until(io::read(**source, 0, std::as_writable_bytes(std::span(text))), [] {});
  REQUIRE_MESSAGE(read.has_value(), read.error().text());
  return text;
}

// The values of a float32 .npy file: two bytes of header length at 8, then the header, then data.
std::vector<float> read_npy(const std::string& path) {
  const std::string bytes = read_text(path);
  REQUIRE(bytes.starts_with(std::string_view("\x93NUMPY\x01\x00", 8)));
  const size_t start = 10 + static_cast<unsigned char>(bytes[8]) +
                       (size_t{static_cast<unsigned char>(bytes[9])} << 8);
  REQUIRE(bytes.find("'<f4'") < start);
  std::vector<float> values((bytes.size() - start) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + start, values.size() * sizeof(float));
  return values;
}

std::vector<int32_t> ids(const base::Json& facts, const char* key) {
  std::vector<int32_t> out;
  for (const base::Json& id : facts.find(key)->items())
    out.push_back(static_cast<int32_t>(id.integer()));
  return out;
}

// A golden model with what is known of it, loaded from a source that answers late.
struct Golden {
  // A null device is the CPU. Exact numerics come with an f32 cache, fast ones with f16, as in
  // the commands.
  Golden(const std::string& name, kernels::Numerics numerics, std::unique_ptr<gpu::Device> on)
      : device(on.get()) {
    const std::string path = "tests/goldens/" + name;
    auto parsed = base::Json::parse(read_text(path + ".json"));
    REQUIRE(parsed.has_value());
    facts = *std::move(parsed);
    reference = read_npy(path + ".npy");
    const formats::OpenPart open =
        [this](const std::string& file) -> base::Result<std::unique_ptr<io::ByteSource>> {
      PUNA_TRY(auto inner, io::open_file(file));
      return std::make_unique<io::DeferredSource>(std::move(inner), reads);
    };
    const auto pump = [this] {
      if (reads.pump()) return;
      REQUIRE(device != nullptr);  // the CPU device waits for nothing but reads
      device->poll();
    };
    auto file = open_golden(path, open, pump);
    REQUIRE_MESSAGE(file.has_value(), file.error().text());
    engine::EngineOptions options;
    options.numerics = numerics;
    options.kv_type =
        numerics == kernels::Numerics::kExact ? kernels::KvType::kF32 : kernels::KvType::kF16;
    options.n_threads = 2;
    options.all_logits = numerics == kernels::Numerics::kExact;  // fast: a head for each row
    options.embeddings = facts.find("kind")->string() == "embedding";
    if (options.embeddings) options.n_sequences = 3;
    auto loaded = base::run_until(
        engine::Engine::load(*std::move(file), std::move(on), std::move(options)), pump);
    REQUIRE_MESSAGE(loaded.has_value(), loaded.error().text());
    engine = *std::move(loaded);
  }

  size_t vocab() const { return reference.size() / facts.find("tokens")->items().size(); }

  // [tokens, vocab]
  std::vector<float> logits(const std::vector<int32_t>& tokens) {
    std::vector<float> out(tokens.size() * vocab());
    const auto done = base::run_until(engine->logits(0, tokens, out), [&] { engine->poll(); });
    REQUIRE_MESSAGE(done.has_value(), done.error().text());
    return out;
  }
  std::vector<int32_t> greedy_text(const std::vector<int32_t>& prompt, size_t n) {
    std::vector<int32_t> text;
    engine::GenerateOptions options;
    options.sampling.temperature = 0;
    options.max_tokens = static_cast<uint32_t>(n);
    const auto stats =
        base::run_until(engine::Scheduler(*engine).generate(prompt, options, /*end_tokens=*/{},
                                                            [&](const kernels::Chosen& chosen) {
                                                              text.push_back(chosen.id);
                                                              return true;
                                                            }),
                        [&] { engine->poll(); });
    REQUIRE_MESSAGE(stats.has_value(), stats.error().text());
    return text;
  }

  // NAME.gguf, or a folder NAME.
  template <class Pump>
  static base::Result<formats::ModelFile> open_golden(const std::string& path,
                                                      const formats::OpenPart& open,
                                                      const Pump& pump) {
    if (io::is_folder(path)) return base::run_until(formats::load_folder({path, open}), pump);
    PUNA_TRY(auto source, open(path + ".gguf"));
    return base::run_until(formats::open_model(std::move(source)), pump);
  }

  io::ReadQueue reads;
  base::Json facts;
  std::vector<float> reference;
  gpu::Device* device;  // the engine's own; null on the CPU
  std::unique_ptr<engine::Engine> engine;
};

double nmse(const std::vector<float>& x, const std::vector<float>& reference) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double difference = double{x[i]} - double{reference[i]};
    error += difference * difference;
    norm += double{reference[i]} * double{reference[i]};
  }
  return error / norm;
}

// Models that give embeddings, or a classifier's score, with the pooling that their folders say:
// learned positions; windows that reach either way; experts without a gate; biases by distance.
struct Embedder {
  const char* name;
  models::Pooling pooling;
};
constexpr Embedder kEmbedders[] = {{"small_bert_rank-bf16", models::Pooling::kRank},
                                   {"small_modern_bert-f32", models::Pooling::kMean},
                                   {"small_nomic_moe-bf16", models::Pooling::kMean},
                                   {"small_t5-f32", models::Pooling::kMean}};

void check_embedder(const Embedder& embedder, std::unique_ptr<gpu::Device> device) {
  CAPTURE(embedder.name);
  Golden golden(embedder.name, kernels::Numerics::kExact, std::move(device));
  CHECK(golden.engine->pooling() == embedder.pooling);
  const auto scores = base::run_until(golden.engine->embed({0}, {ids(golden.facts, "tokens")}),
                                      [&] { golden.engine->poll(); });
  REQUIRE_MESSAGE(scores.has_value(), scores.error().text());
  CHECK(scores->at(0).size() == golden.reference.size());
  const bool f32 = std::string_view(embedder.name).ends_with("-f32");
  CHECK(nmse(scores->at(0), golden.reference) <= (f32 ? kExactLimit : kExactF16Limit));
  // Several texts in one step get what each gets alone.
  const std::vector<int32_t> text = ids(golden.facts, "tokens");
  const std::vector<std::vector<int32_t>> texts = {
      {text.begin(), text.end() - 3}, text, {text.begin(), text.begin() + 2}};
  const auto embed = [&](std::vector<uint32_t> sequences, std::vector<std::vector<int32_t>> some) {
    auto done = base::run_until(golden.engine->embed(std::move(sequences), std::move(some)),
                                [&] { golden.engine->poll(); });
    REQUIRE_MESSAGE(done.has_value(), done.error().text());
    return *std::move(done);
  };
  const auto together = embed({2, 0, 1}, texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(i);
    // Other kernels for other numbers of rows: f32 sums in another order.
    CHECK(nmse(together[i], embed({0}, {texts[i]})[0]) < 1e-10);
  }
  CHECK(nmse(together[1], together[0]) > 1e-6);
}

constexpr const char* kNames[] = {
    "llama-f16", "llama-q4_0", "llama-q4_k_m", "gemma3-q8_0",
    // Folders of Hugging Face and MLC; experts, latent attention, states, ALiBi.
    "small_llama-bf16", "small_llama-q4f16_1", "small_qwen3moe-bf16", "small_deepseek3-bf16",
    "small_minicpm3-bf16", "small_jamba-bf16", "small_qwen35-bf16", "small_mpt-bf16",
    // A state for each head, and tokens mixed with those before them.
    "rwkv6-q8_0", "rwkv7-q8_0", "small_rwkv6_hf-bf16", "small_rwkv7_fla-bf16"};

void check_exact(const char* name, Golden& golden) {
  const std::vector<int32_t> prompt = ids(golden.facts, "tokens");
  const bool f16 =
      std::string_view(name).ends_with("-f16") || std::string_view(name).ends_with("-bf16");
  CHECK(nmse(golden.logits(prompt), golden.reference) <= (f16 ? kExactF16Limit : kExactLimit));
  const std::vector<int32_t> text = ids(golden.facts, "greedy");
  CHECK(golden.greedy_text(prompt, text.size()) == text);
}

void check_fast(Golden& golden) {
  CHECK(nmse(golden.logits(ids(golden.facts, "tokens")), golden.reference) <= kFastLimit);
}

// Each token of a long text (several cache pages and attention splits) is the one that the CPU's
// logits put first, or as good as that.
void check_long_text(Golden& golden, Golden& cpu) {
  constexpr size_t kPrompt = 200, kText = 24;
  constexpr float kGap = 1e-3f;  // in standard deviations of the logits
  const size_t vocab = golden.vocab();
  std::vector<int32_t> tokens(kPrompt);
  for (size_t i = 0; i < kPrompt; ++i) tokens[i] = static_cast<int32_t>((i * 37 + 11) % vocab);
  const std::vector<int32_t> text = golden.greedy_text(tokens, kText);
  REQUIRE(text.size() == kText);
  tokens.insert(tokens.end(), text.begin(), text.end());
  const std::vector<float> logits = cpu.logits(tokens);
  for (size_t i = 0; i < kText; ++i) {
    const std::span row = std::span(logits).subspan((kPrompt - 1 + i) * vocab, vocab);
    float mean = 0, square = 0;
    for (float x : row) mean += x / static_cast<float>(vocab);
    for (float x : row) square += (x - mean) * (x - mean) / static_cast<float>(vocab);
    const float lead =
        *std::max_element(row.begin(), row.end()) - row[static_cast<size_t>(text[i])];
    CHECK(lead <= kGap * std::sqrt(square));
  }
}

// A new device on the first native adapter; null where there is none.
std::unique_ptr<gpu::Device> open_gpu(bool baseline) {
  const auto adapters = gpu::native::adapters();
  REQUIRE_MESSAGE(adapters.has_value(), adapters.error().text());
  if (adapters->empty()) return nullptr;
  auto device = gpu::native::open(0, {.baseline = baseline});
  REQUIRE_MESSAGE(device.has_value(), device.error().text());
  return *std::move(device);
}

void check_gpu(bool baseline) {
  for (const char* name : kNames) {
    CAPTURE(name);
    auto device = open_gpu(baseline);
    if (!device) {
      MESSAGE("SKIPPED: there is no native GPU adapter (not even software Vulkan)");
      return;
    }
    Golden exact(name, kernels::Numerics::kExact, std::move(device));
    check_exact(name, exact);
    Golden cpu(name, kernels::Numerics::kExact, nullptr);
    check_long_text(exact, cpu);
  }
  for (const Embedder& embedder : kEmbedders) {
    if (auto device = open_gpu(baseline)) check_embedder(embedder, std::move(device));
  }
  // One model: software Vulkan takes seconds to compile the kernels of another.
  if (auto device = open_gpu(baseline)) {
    Golden fast("llama-q4_0", kernels::Numerics::kFast, std::move(device));
    check_fast(fast);
  }
}

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("the golden models give the logits and the greedy text of the reference on the CPU") {
  for (const char* name : kNames) {
    CAPTURE(name);
    Golden exact(name, kernels::Numerics::kExact, nullptr);
    check_exact(name, exact);
    Golden fast(name, kernels::Numerics::kFast, nullptr);
    check_fast(fast);
  }
}

TEST_CASE("golden models give the embeddings and scores of the reference on the CPU") {
  for (const Embedder& embedder : kEmbedders) check_embedder(embedder, nullptr);
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("gpu");

TEST_CASE("the golden models give the logits and the greedy text of the reference on a GPU") {
  check_gpu(/*baseline=*/false);
}

TEST_CASE("a GPU with nothing but what every WebGPU has gives the same") {
  check_gpu(/*baseline=*/true);
}

TEST_SUITE_END();
