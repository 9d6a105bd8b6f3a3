// Media in prompts: rows in place of embeddings. Where the rows are those of tokens, the text is
// that of the tokens; equal rows are known again by their content, also where another text brings
// them. On the CPU device, natively and as WebAssembly, and on the first native adapter.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "base/task.h"
#include "engine/scheduler.h"
#include "formats/open.h"
#include "gpu/native/native.h"
#include "io/byte_source.h"
#include "models/testing/tiny_recurrent.h"
#include "quant/quant.h"

using namespace puna;
using engine::Media;
using engine::Prompt;

namespace {

std::unique_ptr<engine::Engine> load(formats::ModelFile file, std::unique_ptr<gpu::Device> device,
                                     bool media = true) {
  engine::EngineOptions options;
  options.numerics = kernels::Numerics::kExact;
  options.kv_type = kernels::KvType::kF32;
  options.n_threads = 2;
  options.n_sequences = 4;
  options.media = media;
  gpu::Device* on = device.get();
  auto done = base::run_until(engine::Engine::load(std::move(file), std::move(device), options),
                              [&] { on->poll(); });
  REQUIRE_MESSAGE(done.has_value(), done.error().text());
  return *std::move(done);
}

formats::ModelFile open_golden(const char* name) {
  auto file = base::run_until(
      formats::open_model(std::string("tests/goldens/") + name, formats::OpenOptions{}), [] {});
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  return *std::move(file);
}

formats::ModelFile make(const char* architecture) {
  fixtures::TinyShape shape;
  shape.architecture = architecture;
  return shape.architecture == "qwen35" ? fixtures::tiny_recurrent_model(shape)
                                        : fixtures::tiny_model(shape);
}

// The embeddings of tokens, as the layers read them.
std::shared_ptr<Media> rows_of(const formats::ModelFile& file, std::span<const int32_t> tokens,
                               float scale) {
  const formats::Tensor& table = *file.find_tensor("token_embd.weight");
  std::vector<std::byte> bytes(table.bytes);
  REQUIRE(base::run_until(io::read(*file.sources[table.source], table.offset, bytes), [] {}));
  std::vector<float> values(table.rows() * table.columns());
  quant::info(table.type).decode(bytes.data(), values.data(), values.size());
  auto media = std::make_shared<Media>();
  media->n_rows = static_cast<uint32_t>(tokens.size());
  for (const int32_t id : tokens) {
    const auto row =
        std::span(values).subspan(static_cast<size_t>(id) * table.columns(), table.columns());
    for (const float v : row) media->rows.push_back(scale * v);
  }
  media->digest[0] = static_cast<std::byte>(tokens[0]);
  return media;
}

std::vector<int32_t> tokens(size_t n, size_t seed) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < n; ++i) out.push_back(static_cast<int32_t>((i * 37 + seed * 13 + 3) % 90));
  return out;
}

struct Written {
  std::vector<int32_t> tokens;
  engine::GenerateStats stats;
};
base::Result<Written> write(engine::Engine& engine, Prompt prompt,
                            kernels::SamplingParams sampling = {.temperature = 0}) {
  Written out;
  engine::GenerateOptions options;
  options.sampling = std::move(sampling);
  options.max_tokens = 12;
  PUNA_TRY(out.stats,
           base::run_until(engine::Scheduler(engine).generate(std::move(prompt), options, {},
                                                              [&](const kernels::Chosen& chosen) {
                                                                out.tokens.push_back(chosen.id);
                                                                return true;
                                                              }),
                           [&] { engine.poll(); }));
  return out;
}

// Words, an image of 70 rows, words, one of 3, and words.
void check_rows_of_tokens(engine::Engine& engine, float scale) {
  const std::vector<int32_t> parts[] = {tokens(20, 1), tokens(70, 2), tokens(9, 3), tokens(3, 4),
                                        tokens(5, 5)};
  Prompt with_media;
  std::vector<int32_t> as_tokens;
  for (size_t i = 0; i < 5; ++i) {
    as_tokens.insert(as_tokens.end(), parts[i].begin(), parts[i].end());
    if (i % 2 == 0) {
      with_media.add(parts[i]);
    } else {
      with_media.add(rows_of(engine.file(), parts[i], scale));
    }
  }
  const auto expected = write(engine, as_tokens);
  const auto written = write(engine, with_media);
  REQUIRE(expected);
  REQUIRE_MESSAGE(written.has_value(), written.error().text());
  CHECK(written->tokens == expected->tokens);
  CHECK(written->stats.n_cached <= 20);  // media are not these tokens to the cache

  // Asked again, the image is not read again, and another one of as many rows is.
  CHECK(write(engine, with_media)->stats.n_cached + kernels::kPageTokens >= as_tokens.size());
  Prompt other;
  other.add(parts[0]);
  other.add(rows_of(engine.file(), tokens(70, 9), scale));
  other.add(parts[4]);
  CHECK(write(engine, other)->stats.n_cached <= 20);

  // Media are no tokens that could repeat.
  kernels::SamplingParams penalized{.temperature = 0, .repeat_penalty = 1.5f, .repeat_last = 200};
  const auto once = write(engine, with_media, penalized);
  penalized.dry.multiplier = 1;
  CHECK(write(engine, with_media, penalized).has_value());
  REQUIRE(once);
  CHECK(once->tokens ==
        write(engine, with_media,
              {.temperature = 0, .repeat_penalty = 1.5f, .repeat_last = 200, .n_probs = 1})
            ->tokens);
}

// Gemma 4 has a table for each layer too, which has no rows of media.
std::vector<int32_t> beside_layer_tables(std::unique_ptr<gpu::Device> device) {
  const auto engine = load(make("gemma4"), std::move(device));
  Prompt prompt;
  prompt.add(tokens(5, 1));
  prompt.add(rows_of(engine->file(), tokens(40, 2), 3));
  prompt.add(tokens(5, 3));
  const auto written = write(*engine, prompt);
  REQUIRE_MESSAGE(written.has_value(), written.error().text());
  return written->tokens;
}

template <class Open>
void check_all(const Open& device) {
  CHECK(beside_layer_tables(device()) == beside_layer_tables(nullptr));
  check_rows_of_tokens(*load(open_golden("llama-q4_0.gguf"), device()), 1);
  const auto gemma = load(open_golden("gemma3-q8_0.gguf"), device());
  check_rows_of_tokens(*gemma, std::sqrt(static_cast<float>(gemma->config().hidden)));
  check_rows_of_tokens(*load(make("qwen35"), device()), 1);
}

}  // namespace

TEST_SUITE_BEGIN("cpu");

TEST_CASE("rows of tokens as media give the text of the tokens on the CPU") {
  check_all([] { return nullptr; });
}

TEST_CASE("media that do not fit the model are refused with both numbers") {
  const auto engine = load(make("llama"), nullptr);
  Prompt prompt;
  prompt.add(tokens(3, 1));
  auto media = std::make_shared<Media>();
  media->n_rows = 2;
  media->rows.resize(2 * 100);
  prompt.add(media);
  prompt.add(tokens(3, 1));
  const std::string hidden = std::to_string(engine->config().hidden);
  CHECK(write(*engine, prompt).error().message ==
        "The media at token 3 has 2 rows of 100 values, but the model reads " + hidden + ".");
  CHECK(write(*engine, std::vector<int32_t>{1, -5, 2}).error().message ==
        "Token id -5 is outside the vocabulary (0 to 95).");
  const auto without = load(make("llama"), nullptr, /*media=*/false);
  CHECK(write(*without, prompt).error().message ==
        "The prompt has media, but the model was loaded for text alone.");
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("gpu");

TEST_CASE("rows of tokens as media give the text of the tokens on a GPU") {
  const auto adapters = gpu::native::adapters();
  REQUIRE_MESSAGE(adapters.has_value(), adapters.error().text());
  if (adapters->empty()) {
    MESSAGE("SKIPPED: there is no native GPU adapter (not even software Vulkan)");
    return;
  }
  check_all([] {
    auto device = gpu::native::open(0, {});
    REQUIRE_MESSAGE(device.has_value(), device.error().text());
    return *std::move(device);
  });
}

TEST_SUITE_END();
