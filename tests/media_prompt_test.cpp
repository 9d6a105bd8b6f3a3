// Media in prompts: rows in place of embeddings. Where the rows are those of tokens, the text is
// that of the tokens; equal rows are known again by their content, also where another text brings
// them. On the CPU device, natively and as WebAssembly, and on the first native adapter.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "base/task.h"
#include "engine/scheduler.h"
#include "formats/open.h"
#include "gpu/native/native.h"
#include "io/byte_source.h"
#include "models/testing/tiny_model.h"
#include "models/testing/tiny_recurrent.h"
#include "quant/quant.h"

using namespace puna;
using engine::Media;
using engine::Prompt;

namespace {

std::unique_ptr<engine::Engine> load(formats::ModelFile file, std::unique_ptr<gpu::Device> device,
                                     bool media = true, double turn_ms = 0,
                                     uint32_t media_rows = 0) {
  engine::EngineOptions options;
  options.numerics = kernels::Numerics::kExact;
  options.kv_type = kernels::KvType::kF32;
  options.n_threads = 2;
  options.n_sequences = 4;
  options.media = media;
  options.media_rows = media_rows;
  options.turn_ms = turn_ms;
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

formats::ModelFile make(const char* architecture, uint32_t context = 0) {
  fixtures::TinyShape shape;
  shape.architecture = architecture;
  if (context > 0) shape.context = context;
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

// Rows of no token.
std::shared_ptr<Media> some_rows(uint32_t n_rows, uint32_t width, uint32_t seed) {
  auto media = std::make_shared<Media>();
  media->n_rows = n_rows;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.6f);
  for (uint32_t i = 0; i < n_rows * width; ++i) media->rows.push_back(normal(random));
  media->digest[0] = static_cast<std::byte>(seed);
  return media;
}

std::vector<float> logits_of(engine::Engine& engine, const Prompt& prompt) {
  std::vector<float> out(prompt.tokens().size() * engine.config().vocab);
  const auto done = base::run_until(engine.logits(0, prompt, out), [&] { engine.poll(); });
  REQUIRE_MESSAGE(done.has_value(), done.error().text());
  return out;
}

double nmse(const std::vector<float>& x, const std::vector<float>& of) {
  double error = 0, all = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    error += (double{x[i]} - double{of[i]}) * (double{x[i]} - double{of[i]});
    all += double{of[i]} * double{of[i]};
  }
  return error / all;
}

// What a family does with rows, and the same rows taken otherwise.
struct Family {
  const char* architecture;
  uint32_t parts = 1;  // of a row, each as wide as an embedding
  bool grid = false, both_ways = false;
  uint32_t n_rows = 40;
};
constexpr Family kFamilies[] = {{"gemma3", 1, false, true},
                                {"gemma4", 1, false, true},
                                {"gemma4", 1, false, true, 600},  // more than a step of texts has
                                {"qwen2vl", 1, true, false},
                                {"qwen3vl", 2, true, false}};

Prompt around(std::shared_ptr<Media> media) {
  Prompt out;
  out.add(tokens(9, 1));
  out.add(std::move(media));
  out.add(tokens(7, 2));
  return out;
}

// A picture of 5 x 8 cells, and words that depend on how it is taken: the same on every device, and
// where texts are written beside it.
void check_family(const Family& family, std::unique_ptr<gpu::Device> device) {
  CAPTURE(family.architecture);
  const uint32_t context = family.n_rows > 40 ? 2048 : 0;
  const auto open = [&](std::unique_ptr<gpu::Device> on, double turn_ms) {
    return load(make(family.architecture, context), std::move(on), /*media=*/true, turn_ms,
                family.n_rows);
  };
  const auto engine = open(std::move(device), 0);
  const uint32_t width = family.parts * engine->config().hidden;
  const auto picture = [&](uint32_t seed) {
    auto out = some_rows(family.n_rows, width, seed);
    if (family.grid) out->grid_columns = 8;
    out->both_ways = family.both_ways;
    return out;
  };
  const Prompt prompt = around(picture(1));
  const std::vector<float> logits = logits_of(*engine, prompt);
  const auto plain = open(nullptr, 0);
  CHECK(nmse(logits, logits_of(*plain, prompt)) < 1e-9);

  // What the picture is taken for shows behind it.
  auto other = picture(1);
  if (family.grid) other->grid_columns = 5;
  if (family.both_ways) other->both_ways = false;
  CHECK(nmse(logits_of(*engine, around(other)), logits) > 1e-6);
  if (family.parts > 1) {
    other = picture(1);
    for (uint32_t row = 0; row < family.n_rows; ++row)
      other->rows[(row + 1) * width - 1] += 3;  // of the last part
    CHECK(nmse(logits_of(*engine, around(other)), logits) > 1e-6);
  }

  // The first choices are those of the logits, and a text goes on alike in pieces, beside others
  // and where it is known.
  const auto alone = write(*engine, prompt);
  REQUIRE_MESSAGE(alone.has_value(), alone.error().text());
  const auto last = std::span(logits).last(engine->config().vocab);
  CHECK(alone->tokens.front() == std::ranges::max_element(last) - last.begin());
  const auto again = write(*engine, prompt);
  REQUIRE(again);
  CHECK(again->stats.n_cached > 40);
  CHECK(again->tokens == alone->tokens);
  // In chunks as small as there are.
  const auto patient = open(nullptr, /*turn_ms=*/1e-6);
  CHECK(write(*patient, prompt)->tokens == alone->tokens);
  engine::Scheduler scheduler(*engine);
  std::vector<std::vector<int32_t>> written(3);
  size_t n_done = 0;
  // The others come when the first is under way.
  const std::function<void(size_t)> begin = [&](size_t i) {
    engine::GenerateOptions options;
    options.sampling = {.temperature = 0};
    options.max_tokens = 12;
    const Prompt own = i == 1 ? Prompt(tokens(60, 7)) : i == 0 ? prompt : around(picture(3));
    const auto on_token = [&, i](const kernels::Chosen& chosen) {
      written[i].push_back(chosen.id);
      if (i == 0 && written[0].size() < written.size()) begin(written[0].size());
      return true;
    };
    base::deliver<base::Result<engine::GenerateStats>>(
        scheduler.generate(own, options, {}, on_token),
        [&](const base::Result<engine::GenerateStats>& done) {
          CHECK(done.has_value());
          ++n_done;
        });
  };
  begin(0);
  while (n_done < written.size()) engine->poll();
  CHECK(written[0] == alone->tokens);
  CHECK(written[1] == write(*plain, tokens(60, 7))->tokens);
  CHECK(written[2] == write(*plain, around(picture(3)))->tokens);
}

template <class Open>
void check_all(const Open& device) {
  for (const Family& family : kFamilies) check_family(family, device());
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

TEST_CASE(
    "positions behind a picture follow its longer side, and those in it its rows and columns") {
  Prompt prompt = std::vector<int32_t>{1, 2, 3};
  auto grid = some_rows(6, 4, 1);  // two rows of three
  grid->grid_columns = 3;
  prompt.add(grid);
  prompt.add(std::vector<int32_t>{4, 5});
  auto line = some_rows(2, 4, 2);
  line->both_ways = true;
  prompt.add(line);
  plan::Step step;
  engine::add_rows(step, 0, prompt.tokens(), 0, prompt.spans(), /*windowed=*/false);
  REQUIRE(step.places.size() == 13);
  const std::array<int32_t, 3> want[] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2},  // words
                                         {3, 3, 3}, {3, 3, 4}, {3, 3, 5},  // the grid's rows
                                         {3, 4, 3}, {3, 4, 4}, {3, 4, 5},  //
                                         {6, 6, 6}, {7, 7, 7},   // words, behind three columns
                                         {8, 8, 8}, {9, 9, 9}};  // no grid
  for (int32_t t = 0; t < 13; ++t) {
    const kernels::RowPlace& place = step.places[static_cast<size_t>(t)];
    for (size_t c = 0; c < 3; ++c) CHECK(t + place.turns[c] == want[t][c]);
    CHECK(place.before == (t == 12 ? 1 : 0));
    CHECK(place.after == (t == 11 ? 1 : 0));
    CHECK(place.next == (t < 3 ? 0 : -3));
  }
  // Where windows hold for them too, only later rows are seen in any case.
  plan::Step windowed;
  engine::add_rows(windowed, 0, prompt.tokens(), 0, prompt.spans(), /*windowed=*/true);
  CHECK(windowed.places[12].before == 0);
  CHECK(windowed.places[11].after == 1);
  // A step does not part rows that attend to each other, and parts all others.
  CHECK(engine::whole_end(prompt.spans(), 0, 5) == 5);
  CHECK(engine::whole_end(prompt.spans(), 0, 12) == 11);
  CHECK(engine::whole_end(prompt.spans(), 11, 12) == 13);
  CHECK(engine::whole_end(prompt.spans(), 4, 13) == 13);
  CHECK(engine::whole_begin(prompt.spans(), 12) == 11);
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

  const auto refuse = [&](Media one) {
    one.n_rows = 6;
    one.rows.resize(size_t{6} * engine->config().hidden);
    Prompt with_it = std::vector<int32_t>{1, 2};
    with_it.add(std::make_shared<Media>(std::move(one)));
    return write(*engine, with_it).error().message;
  };
  Media on_grid, both_ways;
  on_grid.grid_columns = 3;
  both_ways.both_ways = true;
  CHECK(refuse(on_grid) ==
        "The media at token 2 stands on a grid, but the positions of the model have no rows and "
        "columns.");
  CHECK(refuse(both_ways) ==
        "The media at token 2 has rows that attend to those behind them, which the model does not "
        "have.");
  const auto qwen = load(make("qwen2vl"), nullptr);
  auto grid = some_rows(6, qwen->config().hidden, 1);
  grid->grid_columns = 4;
  CHECK(write(*qwen, around(grid)).error().message ==
        "The media at token 9 has 6 rows, which are no grid of 4 columns.");
  const auto gemma = load(make("gemma3"), nullptr);
  auto long_one = some_rows(510, gemma->config().hidden, 1);
  long_one->both_ways = true;
  CHECK(write(*gemma, around(long_one)).error().message ==
        "The media at token 9 has 510 rows that attend to each other, but at most 509 are "
        "evaluated at once beside other texts.");
  // As many as it was loaded for, and not more than a step has room for.
  const auto large = load(make("gemma3", 2048), nullptr, true, 0, /*media_rows=*/900);
  CHECK(large->step_rows() == 928);
  long_one = some_rows(926, gemma->config().hidden, 1);
  long_one->both_ways = true;
  CHECK(write(*large, around(long_one)).error().message ==
        "The media at token 9 has 926 rows that attend to each other, but at most 925 are "
        "evaluated at once beside other texts.");
  engine::EngineOptions options;
  options.media = true;
  options.media_rows = 2050;
  const auto too_large =
      base::run_until(engine::Engine::load(make("gemma3"), nullptr, options), [] {});
  REQUIRE(!too_large.has_value());
  CHECK(too_large.error().message ==
        "Media of 2050 rows that attend to each other are asked for; at most 2048 are evaluated at "
        "once beside other texts.");
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
