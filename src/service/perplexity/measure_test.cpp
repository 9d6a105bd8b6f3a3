// On tiny models of random weights, against the same sums over logits of whole chunks.
#include "service/perplexity/measure.h"

#include <doctest/doctest.h>

#include <cmath>

#include "models/testing/tiny_model.h"

namespace puna::service {
namespace {

constexpr uint32_t kVocab = 96, kContext = 21;  // counted: positions 10 to 19

LoadedModel load(uint32_t seed = 1) {
  fixtures::TinyShape shape;
  shape.seed = seed;
  engine::EngineOptions options;
  options.n_threads = 1;
  options.all_logits = true;
  options.numerics = kernels::Numerics::kExact;
  auto model = base::run_until(
      service::load("tiny", fixtures::tiny_model(shape),
                    DeviceUse{.device = nullptr, .name = "CPU", .why = ""}, options),
      [] {});
  REQUIRE_MESSAGE(model.has_value(), model.error().text());
  return *std::move(model);
}

std::vector<int32_t> text(size_t n) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < n; ++i) out.push_back(static_cast<int32_t>((i * i * 7 + 3) % kVocab));
  return out;
}

base::Result<PerplexityStatistics> measure(LoadedModel& model, std::vector<int32_t> tokens,
                                           PerplexityOptions options) {
  base::ThreadPool pool(2);
  options.n_ctx = options.n_ctx == 512 ? kContext : options.n_ctx;
  return base::run_until(measure_perplexity(model, std::move(tokens), pool, std::move(options)),
                         [] {});
}

std::vector<std::byte> base_of(LoadedModel& model, const std::vector<int32_t>& tokens) {
  std::vector<std::byte> bytes;
  const auto sink = io::to_memory(bytes);
  REQUIRE(measure(model, tokens, {.save = sink.get()}));
  return bytes;
}

BaseFile open(const std::vector<std::byte>& bytes) {
  auto file = base::run_until(BaseFile::open(io::from_memory("x.kld", bytes)), [] {});
  REQUIRE_MESSAGE(file.has_value(), file.error().text());
  return *std::move(file);
}

}  // namespace

TEST_CASE("perplexity is that of the logits of each chunk, over its second half") {
  LoadedModel model = load();
  const std::vector<int32_t> tokens = text(2 * kContext + 5);
  double sum = 0;
  size_t n = 0;
  for (uint32_t chunk = 0; chunk < 2; ++chunk) {
    const auto at = tokens.begin() + chunk * kContext;
    std::vector<float> logits(size_t{kContext} * kVocab);
    REQUIRE(base::run_until(
        model.engine->logits(0, std::vector<int32_t>(at, at + kContext), logits), [] {}));
    for (uint32_t i = 10; i < 20; ++i, ++n) {
      const auto row = std::span(logits).subspan(i * kVocab, kVocab);
      sum += log_sum(row) - row[static_cast<size_t>(at[i + 1])];
    }
  }
  uint32_t n_chunks = 0;
  const auto got =
      measure(model, tokens, {.on_chunk = [&](uint32_t n_done, uint32_t n_all, const auto& s) {
                CHECK(n_done == ++n_chunks);
                CHECK(n_all == 2);
                CHECK(s.n() == n_done * 10);
              }});
  REQUIRE_MESSAGE(got.has_value(), got.error().text());
  CHECK(n_chunks == 2);
  CHECK(got->n() == n);
  CHECK(!got->has_base());
  CHECK(got->perplexity().value ==
        doctest::Approx(std::exp(sum / static_cast<double>(n))).epsilon(1e-5));
  CHECK(measure(model, tokens, {.n_chunks = 1})->n() == 10);
}

TEST_CASE("a model beside its own base does not diverge, another does") {
  const std::vector<int32_t> tokens = text(3 * kContext);
  LoadedModel model = load(), other = load(/*seed=*/2);
  BaseFile base = open(base_of(model, tokens));
  const auto self = measure(model, tokens, {.base = &base});
  REQUIRE_MESSAGE(self.has_value(), self.error().text());
  CHECK(self->has_base());
  CHECK(self->kl_quantile(1) < 1e-6);
  CHECK(self->same_first().value == 1);
  CHECK(std::fabs(self->log_ratio().value) < 1e-4);
  const auto far = measure(other, tokens, {.base = &base});
  CHECK(far->kl().value > 0.1);
  CHECK(far->same_first().value < 0.5);
  CHECK(far->base_perplexity().value == doctest::Approx(self->perplexity().value).epsilon(1e-3));
}

TEST_CASE("what cannot be measured is refused with both numbers") {
  LoadedModel model = load();
  const std::vector<int32_t> tokens = text(2 * kContext);
  const std::vector<std::byte> bytes = base_of(model, tokens);
  BaseFile base = open(bytes);
  const auto refused = [&](std::vector<int32_t> of, PerplexityOptions options) {
    const auto got = measure(model, std::move(of), std::move(options));
    REQUIRE(!got.has_value());
    CHECK(got.error().code == base::ErrorCode::kInvalidArgument);
    return got.error().text();
  };
  const auto has = [](const std::string& text, const char* part) {
    CAPTURE(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(refused(text(20), {}), "20 tokens, but a chunk has 21"));
  CHECK(has(refused({}, {}), "0 tokens"));
  CHECK(has(refused(tokens, {.n_chunks = 3}), "3 chunks are asked for, but the text has 2"));
  CHECK(has(refused(tokens, {.n_ctx = 3}), "Chunks of 3 tokens"));
  CHECK(has(refused(tokens, {.n_ctx = 14, .base = &base}), "21 tokens, but --ctx is 14"));
  CHECK(has(refused(text(3 * kContext), {.base = &base}), "--chunks 2"));
  std::vector<int32_t> changed = tokens;
  changed[25] ^= 1;
  CHECK(has(refused(changed, {.base = &base}), "its token 25 is"));
  changed.resize(kContext);
  CHECK(measure(model, changed, {.base = &base}).has_value());
  const std::atomic<bool> cancel = true;
  CHECK(measure(model, tokens, {.cancel = &cancel}).error().code == base::ErrorCode::kCancelled);
}

}  // namespace puna::service
