// Tests of saved prefixes, and of pages in host memory, that hold on every device.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/scheduler.h"
#include "engine/testing/load_engine.h"
#include "engine/testing/prompts.h"
#include "models/testing/tiny_model.h"
#include "models/testing/tiny_recurrent.h"

namespace puna::engine::test {

constexpr const char* kModel = "sha256-of-a-test";
using Piece = std::vector<std::byte>;

inline formats::ModelFile tiny_file(const std::string& architecture) {
  fixtures::TinyShape shape;
  shape.architecture = architecture;
  shape.context = 1024;
  const bool recurrent = architecture == "qwen35" || architecture == "lfm2" ||
                         architecture == "falcon-h1" || architecture == "jamba";
  if (recurrent) return fixtures::tiny_recurrent_model(shape);
  shape.head_dim = 32;  // what every type of cache takes
  return fixtures::tiny_model(shape);
}

inline std::unique_ptr<Engine> load(const std::string& architecture,
                                    std::unique_ptr<gpu::Device> device, EngineOptions options) {
  options.n_threads = 2;
  return load_engine(tiny_file(architecture), std::move(device), std::move(options));
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
                                                  [&](const kernels::Chosen& chosen) {
                                                    text.tokens.push_back(chosen.id);
                                                    return true;
                                                  }),
                               [&] { engine.poll(); });
  REQUIRE_MESSAGE(stats.has_value(), stats.error().text());
  text.stats = *stats;
  return text;
}

inline Piece save(Engine& engine, std::vector<int32_t> text, uint32_t first,
                  const char* model = kModel) {
  Piece out;
  const auto sink = io::to_memory(out);
  const auto saved =
      base::run_until(engine.save(std::move(text), first, model, *sink), [&] { engine.poll(); });
  REQUIRE_MESSAGE(saved.has_value(), saved.error().text());
  return out;
}

// All that can be saved of the text that begins with these tokens.
struct Pieces {
  std::vector<Piece> pieces;
  std::vector<uint32_t> ends;
};
inline Pieces save_all(Engine& engine, const std::vector<int32_t>& beginning) {
  Pieces out;
  for (const Engine::KeptText& text : engine.kept_texts()) {
    if (text.tokens.size() < beginning.size() ||
        !std::equal(beginning.begin(), beginning.end(), text.tokens.begin())) {
      continue;
    }
    out.ends = text.ends;
    uint32_t first = 0;
    for (const uint32_t end : text.ends) {
      out.pieces.push_back(save(engine, {text.tokens.begin(), text.tokens.begin() + end}, first));
      first = engine.recurrent() ? 0 : end;
    }
    break;
  }
  return out;
}

struct Restored {
  uint32_t n_pieces = 0;  // that were taken up; those after one that failed are left
  uint32_t n_known = 0;   // of the text, then
  std::optional<base::Error> error;
};
inline Restored restore(Engine& engine, Scheduler& scheduler, std::vector<int32_t> text,
                        const std::vector<Piece>& pieces, const char* model = kModel) {
  Restored out;
  for (const Piece& piece : pieces) {
    const auto source = io::from_memory("piece", std::span(piece));
    const auto done =
        base::run_until(scheduler.alone({0},
                                        [&](Scheduler::Sequences sequences) {
                                          return engine.restore(sequences[0], text, model, *source);
                                        }),
                        [&] { engine.poll(); });
    if (!done) {
      out.error = done.error();
      break;
    }
    ++out.n_pieces;
  }
  out.n_known = engine.cache().n_known(text);
  return out;
}

// A text that goes on in a new engine from what an earlier one has saved is the one that the
// earlier one would have written, and the one that an engine writes that has to read all of it.
inline void check_goes_on(const std::function<std::unique_ptr<Engine>()>& load_engine) {
  const auto earlier = load_engine();
  Scheduler writer(*earlier);
  std::vector<int32_t> text = test_prompt(600);
  const Text answer = generate(*earlier, writer, text, 30);
  text.insert(text.end(), answer.tokens.begin(), answer.tokens.end());
  const auto [pieces, ends] = save_all(*earlier, test_prompt(600));
  REQUIRE(!pieces.empty());
  const uint32_t saved = ends.back();
  CHECK(saved >= 608);
  for (const int32_t id : test_prompt(50, 3)) text.push_back(id);
  const Text wanted = generate(*earlier, writer, text, 40);

  const auto later = load_engine();
  Scheduler scheduler(*later);
  const auto restored = restore(*later, scheduler, text, pieces);
  REQUIRE_MESSAGE(!restored.error, restored.error->text());
  CHECK(restored.n_pieces == pieces.size());
  CHECK(restored.n_known == saved);
  const Text goes_on = generate(*later, scheduler, text, 40);
  CHECK(goes_on.stats.n_cached == saved);
  CHECK(goes_on.tokens == wanted.tokens);

  const auto anew = load_engine();
  Scheduler reader(*anew);
  CHECK(generate(*anew, reader, text, 40).tokens == wanted.tokens);
}

// Texts whose pages go to host memory, and come back when they go on, are those of an engine with
// memory for all; also where layers with windows have few pages.
inline void check_comes_back(
    const std::function<std::unique_ptr<Engine>(const EngineOptions&)>& load_engine,
    EngineOptions options) {
  const auto with_room = load_engine(options);
  options.host_cache_bytes = 64 << 20;
  options.window_cache_tokens = 600;
  const auto engine = load_engine(options);
  Scheduler scheduler(*engine), other(*with_room);
  const auto ask = [&](std::vector<int32_t>& text, uint32_t n_known) {
    const Text written = generate(*engine, scheduler, text, 20);
    CHECK(written.tokens == generate(*with_room, other, text, 20).tokens);
    CHECK(written.stats.n_cached == n_known);
    text.insert(text.end(), written.tokens.begin(), written.tokens.end());
    text.push_back(5);
  };
  std::vector<int32_t> first = test_prompt(300, 1), second = test_prompt(800, 2),
                       third = test_prompt(500, 3);
  ask(first, 0);
  ask(second, 0);
  ask(third, 0);
  CHECK(engine->cache().prefixes().host_bytes() > 0);
  ask(first, 300 + 19);
  ask(second, 800 + 19);
  ask(first, 321 + 19);
  ask(third, 500 + 19);
}

}  // namespace puna::engine::test
