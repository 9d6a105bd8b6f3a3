// Encoders beside texts: a picture is encoded in pieces, and texts get their tokens between them.
#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/task.h"
#include "formats/open.h"
#include "io/byte_source.h"
#include "service/senses.h"
#include "service/testing/fake_model.h"

using namespace puna;
using base::Result;
using base::Task;
using service::Senses;
using service::test::continued;
using service::test::FakeModel;
using service::test::prompt;

namespace {

constexpr uint32_t kSide = 24;  // of the pictures that tests/encoders/idefics3.gguf reads

Task<Result<formats::ModelFile>> open_encoder_file() {
  PUNA_CO_TRY(auto source, io::open_file("tests/encoders/idefics3.gguf"));
  co_return co_await formats::open_model(std::move(source));
}

// Every op is a piece of its own.
std::unique_ptr<Senses> senses() {
  service::SensesOptions options;
  options.piece_ms = 0;
  options.n_threads = 1;
  auto out = base::run_until(Senses::load(open_encoder_file, {}, options), [] {});
  REQUIRE_MESSAGE(out.has_value(), out.error().text());
  return *std::move(out);
}

std::vector<float> pixels(float seed) {
  std::vector<float> out(size_t{kSide} * kSide * 3);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(i % 17) / 17 - static_cast<float>(i % 5) * seed;
  return out;
}

std::vector<float> rows_alone(Senses& by, const std::vector<float>& values) {
  std::vector<models::EncoderInput> tiles(1, {values, kSide, kSide});
  auto out = base::run_until(by.run(nullptr, models::Sense::kPictures, std::move(tiles)), [] {});
  REQUIRE_MESSAGE(out.has_value(), out.error().text());
  return out->media.rows;
}

struct Picture {
  std::vector<float> values;
  std::optional<Result<engine::Encoded>> result;

  void begin(Senses& by, engine::Scheduler& scheduler) {
    std::vector<models::EncoderInput> tiles(1, {values, kSide, kSide});
    base::deliver<Result<engine::Encoded>>(
        by.run(&scheduler, models::Sense::kPictures, std::move(tiles)),
        [this](Result<engine::Encoded> done) { result = std::move(done); });
  }
};

struct Text {
  std::vector<int32_t> tokens;
  bool ended = false;

  void begin(engine::Scheduler& scheduler, std::vector<int32_t> tokens_before, uint32_t n) {
    engine::GenerateOptions options;
    options.sampling.temperature = 0;
    options.max_tokens = n;
    base::deliver<Result<engine::GenerateStats>>(
        scheduler.generate(std::move(tokens_before), std::move(options), {},
                           [this](const kernels::Chosen& chosen) {
                             tokens.push_back(chosen.id);
                             return true;
                           }),
        [this](Result<engine::GenerateStats> done) {
          REQUIRE(done.has_value());
          ended = true;
        });
  }
};

}  // namespace

TEST_CASE("while a picture is encoded a text goes on getting tokens, which are its own") {
  constexpr uint32_t kTokens = 200;
  const FakeModel fake = service::test::fake_model();
  engine::Scheduler& scheduler = *fake.model.scheduler;
  const std::unique_ptr<Senses> by = senses();
  Picture picture{pixels(0.3f), {}};
  const std::vector<float> expected = rows_alone(*by, picture.values);

  Text text;
  text.begin(scheduler, prompt(5, 1), kTokens);
  while (text.tokens.size() < 3) REQUIRE(fake.device->pump());
  picture.begin(*by, scheduler);
  CHECK_FALSE(picture.result.has_value());
  const size_t before = text.tokens.size();
  while (!picture.result) REQUIRE(fake.device->pump());
  const size_t between = text.tokens.size() - before;
  CHECK_FALSE(text.ended);
  // The graph of two blocks has more ops than this, with a step between each two.
  CHECK(between > 10);
  while (!text.ended) REQUIRE(fake.device->pump());
  CHECK(text.tokens == continued(prompt(5, 1), kTokens));
  REQUIRE(picture.result->has_value());
  CHECK((*picture.result)->media.rows == expected);
}

TEST_CASE("pictures of two requests are encoded one after the other") {
  const FakeModel fake = service::test::fake_model();
  engine::Scheduler& scheduler = *fake.model.scheduler;
  const std::unique_ptr<Senses> by = senses();
  Picture first{pixels(0.3f), {}}, second{pixels(0.7f), {}};
  const std::vector<float> one = rows_alone(*by, first.values);
  const std::vector<float> other = rows_alone(*by, second.values);
  REQUIRE(one != other);

  Text text;
  text.begin(scheduler, prompt(5, 2), 240);
  while (text.tokens.empty()) REQUIRE(fake.device->pump());
  first.begin(*by, scheduler);
  second.begin(*by, scheduler);
  while (!second.result) REQUIRE(fake.device->pump());
  REQUIRE(first.result.has_value());
  REQUIRE(first.result->has_value());
  REQUIRE(second.result->has_value());
  CHECK((*first.result)->media.rows == one);
  CHECK((*second.result)->media.rows == other);
  while (!text.ended) REQUIRE(fake.device->pump());
}

TEST_CASE("a picture that cannot be encoded lets the next one have its turn") {
  const FakeModel fake = service::test::fake_model();
  engine::Scheduler& scheduler = *fake.model.scheduler;
  const std::unique_ptr<Senses> by = senses();
  Picture good{pixels(0.3f), {}};
  const std::vector<float> expected = rows_alone(*by, good.values);
  std::optional<Result<engine::Encoded>> refused;
  std::vector<models::EncoderInput> small(1, {good.values, kSide, kSide / 2});
  base::deliver<Result<engine::Encoded>>(
      by->run(&scheduler, models::Sense::kPictures, std::move(small)),
      [&](Result<engine::Encoded> done) { refused = std::move(done); });
  good.begin(*by, scheduler);
  REQUIRE(refused.has_value());
  CHECK_FALSE(refused->has_value());
  REQUIRE(good.result.has_value());
  REQUIRE(good.result->has_value());
  CHECK((*good.result)->media.rows == expected);
}
