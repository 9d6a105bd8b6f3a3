#include "engine/no_numbers.h"

#include "engine/testing/no_numbers_cases.h"
#include "kernels/common/cpu_test_util.h"

using namespace puna;
using namespace puna::engine;

namespace {
std::unique_ptr<gpu::Device> cpu() { return nullptr; }
}  // namespace

TEST_CASE("logits that are no numbers are an error that names the tensor") {
  for (const float value : {NAN, INFINITY}) {
    test::names_the_tensor(cpu, "output_norm.weight", 17, value, "row 0, column 17");
    test::names_the_tensor(cpu, "blk.0.attn_norm.weight", 63, value, "row 0, column 63");
    test::names_the_tensor(cpu, "blk.1.ffn_down.weight", 96 * 5, value, "row 5, column 0");
  }
  // Of one token, which has no logit then.
  test::names_the_tensor(cpu, "token_embd.weight", 90 * 64 + 3, NAN, "row 90, column 3");
}

TEST_CASE("no variant of the CPU kernels makes a number of what is none") {
  using enum kernels::KvType;
  kernels::test::for_every_variant([] {
    for (const kernels::KvType kv_type : {kF32, kF16, kQ8_0, kQ4_0})
      test::names_a_tensor_of_blocks(cpu, kv_type);
  });
}

TEST_CASE("values that leave their range are told from damaged weights") {
  test::tells_overflow_from_damage(cpu);
}

TEST_CASE("texts in a batch with one that has no choice fail") { test::fails_in_a_batch(cpu); }

TEST_CASE("logits and embeddings that are no numbers are refused, with the position") {
  const auto engine = test::load(test::damaged({}, "token_embd.weight", 5 * 64, NAN), cpu);
  std::vector<float> out(4 * 96);
  auto done = base::run_until(engine->logits(0, std::vector<int32_t>{1, 2, 3, 4}, out), [] {});
  REQUIRE(!done.has_value());
  test::says(done.error(), "at position 1");
  test::says(done.error(), "\"token_embd.weight\" of tiny llama holds nan at row 5, column 0");

  // Embeddings meet the row in a text that has the token only. (Which position is met first is not
  // said: where a tile of attention holds the token, NaN times nothing is NaN.)
  EngineOptions options;
  options.embeddings = true;
  options.pooling = models::Pooling::kNone;
  const auto embeds = test::load(test::damaged({}, "token_embd.weight", 5 * 64, NAN), cpu, options);
  CHECK(base::run_until(embeds->embed({0}, {{1, 2, 3}}), [] {}).has_value());
  const auto bad = base::run_until(embeds->embed({0}, {{1, 2, 5, 3}}), [] {});
  REQUIRE(!bad.has_value());
  test::says(bad.error(), "The embedding at position ");
  test::says(bad.error(), "token_embd.weight");
  CHECK(base::run_until(embeds->embed({0}, {{1, 2, 3}}), [] {}).has_value());
}

TEST_CASE("damaged weights are found before anything is loaded, where that is asked for") {
  EngineOptions options;
  options.check_weights = true;
  const auto load = [&](formats::ModelFile file) {
    return base::run_until(Engine::load(std::move(file), nullptr, options), [] {});
  };
  CHECK(load(test::damaged({}, "blk.0.attn_norm.weight", 0, 1)).has_value());
  for (const float value : {NAN, -INFINITY}) {
    const auto refused = load(test::damaged({}, "blk.1.ffn_down.weight", 96 * 5 + 3, value));
    REQUIRE(!refused.has_value());
    CHECK(refused.error().code == base::ErrorCode::kCorrupt);
    test::says(refused.error(), "\"blk.1.ffn_down.weight\"");
    test::says(refused.error(), "row 5, column 3");
  }
}

TEST_CASE("weights are not looked through once that is called off, and a read that fails says so") {
  const std::atomic<bool> cancel = true;
  auto file = test::damaged({}, "output_norm.weight", 3, NAN);
  NoNumbers says;
  base::Error error = base::run_until(says.explain(file, "X", false, &cancel), [] {});
  CHECK(error.code == base::ErrorCode::kCancelled);
  file.sources[0] = io::failing(std::move(file.sources[0]), 1);
  error = base::run_until(says.explain(file, "X", false, nullptr), [] {});
  CHECK(error.code == base::ErrorCode::kIo);
  test::says(error, "X. ");
  test::says(error, "While reading tensor");

  // What they hold is read once.
  file = test::damaged({}, "output_norm.weight", 3, NAN);
  error = base::run_until(says.explain(file, "X", false, nullptr), [] {});
  CHECK(error.code == base::ErrorCode::kCorrupt);
  file.sources[0] = io::failing(std::move(file.sources[0]), 0);
  error = base::run_until(says.explain(file, "Y", false, nullptr), [] {});
  CHECK(error.code == base::ErrorCode::kCorrupt);
  test::says(error, "Y. Tensor \"output_norm.weight\"");
}

TEST_CASE("what a load was watched and called off by is not asked after it") {
  std::unique_ptr<Engine> engine;
  {
    const auto cancel = std::make_unique<std::atomic<bool>>(false);
    const auto n_told = std::make_unique<int>(0);
    EngineOptions options = test::exact();
    options.hooks.cancel = cancel.get();
    options.hooks.on_progress = [n = n_told.get()](uint64_t, uint64_t) { ++*n; };
    engine = test::load(test::damaged({}, "output_norm.weight", 3, NAN), cpu, options);
    CHECK(*n_told > 0);
    *cancel = true;
  }
  CHECK(engine->options().hooks.cancel == nullptr);
  CHECK(!engine->options().hooks.on_progress);
  CHECK(test::decode(*engine, 0).error.code == base::ErrorCode::kCorrupt);
}
