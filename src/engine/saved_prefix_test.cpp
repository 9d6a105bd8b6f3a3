#include "engine/saved_prefix.h"

#include <doctest/doctest.h>

#include <cstring>

#include "engine/testing/saved_prefix_cases.h"

using namespace puna;
using namespace puna::engine::test;
using base::ErrorCode;
using engine::Engine;
using engine::EngineOptions;
using engine::Scheduler;

namespace {

EngineOptions exact_options(uint32_t n_sequences = 1) {
  EngineOptions out;
  out.numerics = kernels::Numerics::kExact;
  out.kv_type = kernels::KvType::kF32;
  out.n_sequences = n_sequences;
  return out;
}

std::unique_ptr<Engine> load_cpu(const char* architecture,
                                 EngineOptions options = exact_options()) {
  return load(architecture, nullptr, std::move(options));
}

// A text of 310 tokens, what was saved of it, and how it goes on.
struct Saved {
  std::vector<int32_t> text = test_prompt(300);
  std::vector<Piece> pieces;
  std::vector<int32_t> answer;
};
Saved save_text(const char* architecture) {
  Saved out;
  const auto engine = load_cpu(architecture);
  Scheduler scheduler(*engine);
  const std::vector<int32_t> written = generate(*engine, scheduler, out.text, 10).tokens;
  out.text.insert(out.text.end(), written.begin(), written.end());
  out.pieces = save_all(*engine, test_prompt(300)).pieces;
  out.answer = generate(*engine, scheduler, out.text, 10).tokens;
  return out;
}

// Why nothing is taken up; the text is then as without.
base::Error refused(Engine& engine, const Saved& saved, const Piece& piece,
                    const char* model = kModel) {
  Scheduler scheduler(engine);
  const auto restored = restore(engine, scheduler, saved.text, {piece}, model);
  REQUIRE(restored.error);
  CHECK(restored.n_pieces == 0);
  CHECK(restored.n_known == 0);
  CHECK(engine.cache().n_available() == engine.cache().n_pages());
  return *restored.error;
}

}  // namespace

TEST_CASE("a text goes on in another engine, by attention, in a window, by recurrent states") {
  for (const char* architecture :
       {"llama", "gemma3", "gemma4", "qwen35", "lfm2", "falcon-h1", "jamba"}) {
    CAPTURE(architecture);
    check_goes_on([&] { return load_cpu(architecture); });
  }
}

TEST_CASE("pages come back from host memory as they were") {
  for (const char* architecture : {"llama", "gemma3", "gemma4"}) {
    CAPTURE(architecture);
    check_comes_back([&](const EngineOptions& options) { return load_cpu(architecture, options); },
                     exact_options());
  }
}

TEST_CASE("a text goes on from every type of cache") {
  for (const auto type : {kernels::KvType::kF16, kernels::KvType::kQ8_0, kernels::KvType::kQ4_0}) {
    CAPTURE(kernels::name(type));
    EngineOptions options = exact_options();
    options.kv_type = type;
    check_goes_on([&] { return load_cpu("llama", options); });
  }
}

TEST_CASE("pieces end at whole pages, and texts with one beginning share those of it") {
  const auto engine = load_cpu("llama", exact_options(2));
  Scheduler scheduler(*engine);
  CHECK(engine->kept_texts().empty());
  std::vector<int32_t> a = test_prompt(600), b = test_prompt(290);
  b.push_back(5);
  for (const int32_t id : test_prompt(100, 9)) b.push_back(id);
  generate(*engine, scheduler, a, 1);
  generate(*engine, scheduler, b, 1);
  CHECK(engine->kept_texts().size() == 2);
  const Pieces of_a = save_all(*engine, a), of_b = save_all(*engine, b);
  CHECK(of_a.ends == std::vector<uint32_t>{256, 512, 576});
  CHECK(of_b.ends == std::vector<uint32_t>{256, 384});
  CHECK(of_a.pieces[0] == of_b.pieces[0]);
  CHECK(of_a.pieces[1] != of_b.pieces[1]);

  // What is known already is not taken up again.
  const auto later = load_cpu("llama");
  Scheduler other(*later);
  generate(*later, other, test_prompt(300), 1);
  const auto restored = restore(*later, other, a, {of_a.pieces[1]});
  REQUIRE_MESSAGE(!restored.error, restored.error->text());
  CHECK(restored.n_known == 512);
}

TEST_CASE("with windows apart, what is there as a whole is saved, for engines with such pages") {
  EngineOptions apart = exact_options();
  apart.window_cache_tokens = 600;
  const auto engine = load_cpu("gemma3", apart);
  REQUIRE(engine->cache().windows().apart());
  Scheduler scheduler(*engine);
  std::vector<int32_t> text = test_prompt(300);
  const auto written = generate(*engine, scheduler, text, 30).tokens;
  text.insert(text.end(), written.begin(), written.end());
  const std::vector<Piece> pieces = save_all(*engine, test_prompt(300)).pieces;
  REQUIRE(pieces.size() == 2);
  const auto answer = generate(*engine, scheduler, text, 20).tokens;

  const auto later = load_cpu("gemma3", apart);
  Scheduler other(*later);
  const auto restored = restore(*later, other, text, pieces);
  REQUIRE_MESSAGE(!restored.error, restored.error->text());
  CHECK(restored.n_known == 320);
  CHECK(generate(*later, other, text, 20).tokens == answer);

  // Where all layers share pages these lie in another order.
  const auto as_one = load_cpu("gemma3");
  Scheduler third(*as_one);
  const auto refused = restore(*as_one, third, text, pieces);
  REQUIRE(refused.error);
  CHECK(refused.error->message.find("\"page_bytes\"") != std::string::npos);
  CHECK(generate(*as_one, third, text, 20).tokens == answer);

  // Of a longer text what lies behind its windows is gone.
  const std::vector<int32_t> longer = test_prompt(700, 5);
  generate(*engine, scheduler, longer, 5);
  Piece piece;
  const auto sink = io::to_memory(piece);
  const auto saved =
      base::run_until(engine->save({longer.begin(), longer.begin() + 672}, 0, kModel, *sink),
                      [&] { engine->poll(); });
  REQUIRE_FALSE(saved);
  CHECK(saved.error().code == ErrorCode::kUnsupported);
  CHECK(saved.error().message.find("layers with windows") != std::string::npos);
  CHECK(engine->cache().n_available() == engine->cache().n_pages());
}

TEST_CASE("a piece that is cut anywhere, or has one wrong bit, is refused") {
  for (const char* architecture : {"llama", "qwen35"}) {
    CAPTURE(architecture);
    const Saved saved = save_text(architecture);
    const Piece& piece = saved.pieces[0];
    const auto engine = load_cpu(architecture);
    const size_t head = 600;  // no part of it is left out
    for (size_t n = 0; n < piece.size(); n += n < head ? 1 : 4099) {
      CAPTURE(n);
      const auto code =
          refused(*engine, saved, Piece(piece.begin(), piece.begin() + static_cast<ptrdiff_t>(n)))
              .code;
      CHECK(code == ErrorCode::kCorrupt);
      Piece damaged = piece;
      damaged[n] ^= std::byte{static_cast<uint8_t>(1u << (n % 8))};
      const auto why = refused(*engine, saved, damaged);
      const bool told = why.code == ErrorCode::kCorrupt || n < 12;  // magic and version
      CHECK_MESSAGE(told, why.text());
    }
    Piece longer = piece;
    longer.push_back({});
    CHECK(refused(*engine, saved, longer).code == ErrorCode::kCorrupt);
    // And then the text is computed as if nothing had been there.
    Scheduler scheduler(*engine);
    CHECK(generate(*engine, scheduler, saved.text, 10).tokens == saved.answer);
  }
}

TEST_CASE("a piece of another model, engine, version or text is refused by what is different") {
  const Saved saved = save_text("llama");
  const Piece& piece = saved.pieces[0];
  const auto engine = load_cpu("llama");
  CHECK(
      refused(*engine, saved, piece, "another").message ==
      "The piece was saved with another \"model\": \"sha256-of-a-test\"; here it is \"another\".");
  EngineOptions half = exact_options();
  half.kv_type = kernels::KvType::kF16;
  CHECK(refused(*load_cpu("llama", half), saved, piece).message ==
        "The piece was saved with another \"kv_type\": \"f32\"; here it is \"f16\".");
  EngineOptions fast = exact_options();
  fast.numerics = kernels::Numerics::kFast;
  CHECK(refused(*load_cpu("llama", fast), saved, piece).message ==
        "The piece was saved with another \"numerics\": \"exact\"; here it is \"fast\".");
  CHECK(refused(*load_cpu("gemma3"), saved, piece).message ==
        "The piece was saved with another \"architecture\": \"llama\"; here it is \"gemma3\".");
  Piece newer = piece;
  newer[8] = std::byte{2};
  CHECK(refused(*engine, saved, newer).message ==
        "The piece is of version 2; this engine reads version 1.");
  EngineOptions small = exact_options();
  small.context = 128;
  const Saved other{test_prompt(300, 1), {}, {}};
  for (const auto& error :
       {refused(*engine, other, piece), refused(*load_cpu("llama", small), saved, piece)})
    CHECK(error.message == "The piece of tokens 0 to 256 does not go on with this text.");
  CHECK(refused(*engine, saved, saved.pieces[1]).message ==
        "The piece of tokens 256 to 288 does not go on with this text.");
}

TEST_CASE("without copies of recurrent states no saved text is taken up") {
  const Saved saved = save_text("qwen35");
  EngineOptions options = exact_options();
  options.states_each = 0;
  const auto engine = load_cpu("qwen35", options);
  const base::Error error = refused(*engine, saved, saved.pieces[0]);
  CHECK(error.code == ErrorCode::kUnsupported);
  CHECK(error.message.find("--ctx-checkpoints 0") != std::string::npos);
  Scheduler scheduler(*engine);
  CHECK(generate(*engine, scheduler, saved.text, 10).tokens == saved.answer);
}

TEST_CASE("a source or a sink that fails is told of, and the text is computed") {
  const Saved saved = save_text("qwen35");
  const auto engine = load_cpu("qwen35");
  Scheduler scheduler(*engine);
  for (int fail_at = 0; fail_at < 6; ++fail_at) {
    const auto source = io::failing(io::from_memory("piece", std::span(saved.pieces[0])), fail_at);
    const auto done = base::run_until(
        scheduler.alone({0},
                        [&](Scheduler::Sequences sequences) {
                          return engine->restore(sequences[0], saved.text, kModel, *source);
                        }),
        [] {});
    CHECK(done.error().code == ErrorCode::kIo);
    CHECK(engine->cache().prefixes().n_nodes() == 0);
  }
  CHECK(generate(*engine, scheduler, saved.text, 10).tokens == saved.answer);

  class FullSink final : public io::ByteSink {
   public:
    explicit FullSink(int n) : left_(n) {}
    base::Result<void> write(std::span<const std::byte>) override {
      if (left_-- > 0) return {};
      return base::fail(ErrorCode::kIo, "The disk is full.");
    }
    base::Result<void> finish() override { return {}; }

   private:
    int left_;
  };
  const Engine::KeptText kept = engine->kept_texts().front();
  const std::vector<int32_t> text(kept.tokens.begin(), kept.tokens.begin() + kept.ends.back());
  for (int n = 0; n < 8; ++n) {
    FullSink sink(n);
    const auto failed = base::run_until(engine->save(text, 0, kModel, sink), [] {});
    CHECK(failed.error().message == "The disk is full.");
  }
  // What is no piece: no tokens, a state that is not known, a beginning that is left out.
  FullSink sink(1000);
  const auto end = static_cast<uint32_t>(text.size());
  for (const auto& [first, last] :
       {std::pair{0u, end - 1}, std::pair{end, end}, std::pair{32u, end}}) {
    const auto none = base::run_until(
        engine->save({text.begin(), text.begin() + last}, first, kModel, sink), [] {});
    CHECK(none.error().code == ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("a text that comes while another one is taken up waits for that") {
  const Saved saved = save_text("llama");
  const auto engine = load_cpu("llama");
  Scheduler scheduler(*engine);
  // A source that answers when it is told to.
  class LateSource final : public io::ByteSource {
   public:
    explicit LateSource(std::span<const std::byte> bytes)
        : inner_(io::from_memory("piece", bytes)) {}
    uint64_t size() const override { return inner_->size(); }
    const std::string& name() const override { return inner_->name(); }
    void read(uint64_t offset, std::span<std::byte> out, io::ReadDone done) override {
      late_.emplace_back(
          [this, offset, out, done = std::move(done)] { inner_->read(offset, out, done); });
    }
    bool step() {
      if (late_.empty()) return false;
      auto run = std::move(late_.front());
      late_.erase(late_.begin());
      run();
      return true;
    }

   private:
    std::unique_ptr<io::ByteSource> inner_;
    std::vector<std::function<void()>> late_;
  };
  LateSource late(saved.pieces[0]);
  std::optional<base::Result<void>> restored;
  std::optional<base::Result<engine::GenerateStats>> written;
  base::deliver<base::Result<void>>(scheduler.alone({0},
                                                    [&](Scheduler::Sequences sequences) {
                                                      return engine->restore(
                                                          sequences[0], saved.text, kModel, late);
                                                    }),
                                    [&](base::Result<void> r) { restored = std::move(r); });
  engine::GenerateOptions options;
  options.max_tokens = 5;
  base::deliver<base::Result<engine::GenerateStats>>(
      scheduler.generate(test_prompt(20, 4), options, {},
                         [](const kernels::Chosen&) { return true; }),
      [&](base::Result<engine::GenerateStats> r) { written = std::move(r); });
  int steps = 0;
  while (!restored && late.step()) {
    if (!restored) CHECK_FALSE(written);
    ++steps;
  }
  CHECK(steps > 3);
  CHECK(restored->has_value());
  CHECK(engine->cache().n_known(saved.text) == 256);
  REQUIRE(written);
  CHECK(written->has_value());
  CHECK((*written)->n_generated == 5);
}
