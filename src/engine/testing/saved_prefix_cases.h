// Tests of saved prefixes that hold on every device.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/scheduler.h"
#include "models/testing/tiny_model.h"
#include "models/testing/tiny_recurrent.h"

namespace puna::engine::test {

constexpr const char* kModel = "sha256-of-a-test";
using Piece = std::vector<std::byte>;

inline std::vector<int32_t> prompt(size_t n, size_t seed = 0) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < n; ++i)
    out.push_back(static_cast<int32_t>((i * 37 + seed * 13 + i / 96 * 5 + 11) % 96));
  return out;
}

inline formats::ModelFile tiny_file(const std::string& architecture) {
  fixtures::TinyShape shape;
  shape.architecture = architecture;
  shape.context = 1024;
  const bool recurrent =
      architecture == "qwen35" || architecture == "lfm2" || architecture == "falcon-h1";
  if (recurrent) return fixtures::tiny_recurrent_model(shape);
  shape.head_dim = 32;  // what every type of cache takes
  return fixtures::tiny_model(shape);
}

inline std::unique_ptr<Engine> load(const std::string& architecture,
                                    std::unique_ptr<gpu::Device> device, EngineOptions options) {
  options.n_threads = 2;
  gpu::Device* on = device.get();
  auto engine = base::run_until(
      Engine::load(tiny_file(architecture), std::move(device), std::move(options)), [&] {
        if (on != nullptr) on->poll();
      });
  REQUIRE_MESSAGE(engine.has_value(), engine.error().text());
  return *std::move(engine);
}

struct Text {
  std::vector<int32_t> tokens;
  GenerateStats stats;
};
inline Text generate(Engine& engine, Scheduler& scheduler, std::vector<int32_t> tokens,
                     uint32_t n) {
  Text text;
  GenerateOptions options;
  options.sampling.temperature = 0.8f;
  options.sampling.seed = 7;
  options.max_tokens = n;
  auto stats = base::run_until(scheduler.generate(std::move(tokens), options, {},
                                                  [&](int32_t id) {
                                                    text.tokens.push_back(id);
                                                    return true;
                                                  }),
                               [&] { engine.poll(); });
  REQUIRE_MESSAGE(stats.has_value(), stats.error().text());
  text.stats = *stats;
  return text;
}

inline Piece save(Engine& engine, uint32_t sequence, uint32_t first, uint32_t end,
                  const char* model = kModel) {
  Piece out;
  const auto sink = io::to_memory(out);
  const auto saved =
      base::run_until(engine.save(sequence, first, end, model, *sink), [&] { engine.poll(); });
  REQUIRE_MESSAGE(saved.has_value(), saved.error().text());
  return out;
}

// All that can be saved of a sequence.
inline std::vector<Piece> save_all(Engine& engine, uint32_t sequence) {
  std::vector<Piece> out;
  uint32_t first = 0;
  for (const uint32_t end : engine.piece_ends(sequence)) {
    out.push_back(save(engine, sequence, first, end));
    first = end;
  }
  return out;
}

inline Scheduler::Restored restore(Engine& engine, Scheduler& scheduler, std::vector<int32_t> text,
                                   const std::vector<Piece>& pieces, const char* model = kModel) {
  std::vector<std::unique_ptr<io::ByteSource>> sources;
  for (const Piece& piece : pieces) sources.push_back(io::from_memory("piece", std::span(piece)));
  return base::run_until(scheduler.restore(std::move(text), model, std::move(sources)),
                         [&] { engine.poll(); });
}

// A text that goes on in a new engine from what an earlier one has saved is the one that the
// earlier one would have written, and the one that an engine writes that has to read all of it.
inline void check_goes_on(const std::function<std::unique_ptr<Engine>()>& load_engine) {
  const auto earlier = load_engine();
  Scheduler writer(*earlier);
  std::vector<int32_t> text = prompt(600);
  const Text answer = generate(*earlier, writer, text, 30);
  text.insert(text.end(), answer.tokens.begin(), answer.tokens.end());
  REQUIRE(writer.texts() == std::vector<uint32_t>{0});
  const std::vector<Piece> pieces = save_all(*earlier, 0);
  REQUIRE(!pieces.empty());
  const uint32_t saved = earlier->piece_ends(0).back();
  CHECK(saved >= 584);  // a recurrent state: shortly before the end of the prompt
  for (const int32_t id : prompt(50, 3)) text.push_back(id);
  const Text wanted = generate(*earlier, writer, text, 40);

  const auto later = load_engine();
  Scheduler scheduler(*later);
  const auto restored = restore(*later, scheduler, text, pieces);
  REQUIRE_MESSAGE(!restored.error, restored.error->text());
  CHECK(restored.n_pieces == pieces.size());
  CHECK(restored.n_cached == saved);
  CHECK(scheduler.n_cached(text) == saved);
  const Text goes_on = generate(*later, scheduler, text, 40);
  CHECK(goes_on.stats.n_cached == saved);
  CHECK(goes_on.tokens == wanted.tokens);

  const auto anew = load_engine();
  Scheduler reader(*anew);
  CHECK(generate(*anew, reader, text, 40).tokens == wanted.tokens);
}

}  // namespace puna::engine::test
