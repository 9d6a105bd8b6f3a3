// A model for tests of hosts: an engine over an executor without weights
// (engine/testing/fake_executor.h), whose texts are known beforehand; no vocabulary.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/testing/fake_executor.h"
#include "service/answer.h"
#include "service/model.h"

namespace puna::service::test {

constexpr uint32_t kVocab = 1000;

struct FakeModel {
  LoadedModel model;
  engine::test::FakeExecutor* device = nullptr;
};
struct FakeSetup {
  uint32_t n_sequences = 8;
  uint32_t context = 256;
  uint32_t n_pages = 64;
  bool at_once = false;
  std::function<bool()> fails = {};
  base::ErrorCode error = base::ErrorCode::kDevice;
};
inline FakeModel fake_model(const FakeSetup& setup = {}) {
  plan::CacheConfig cache;
  cache.n_sequences = setup.n_sequences;
  cache.pages_per_sequence = setup.context / kernels::kPageTokens;
  cache.n_pages = setup.n_pages;
  auto executor = std::make_unique<engine::test::FakeExecutor>(
      engine::test::FakeExecutor::Options{.cache = cache,
                                          .vocab = kVocab,
                                          .fails = setup.fails,
                                          .error = setup.error,
                                          .at_once = setup.at_once});
  FakeModel out;
  out.device = executor.get();
  models::Config config;
  config.vocab = kVocab;
  config.context = setup.context;
  out.model.name = "fake";
  out.model.engine =
      engine::Engine::around(std::move(executor), std::move(config), cache, false, {});
  out.model.scheduler = std::make_unique<engine::Scheduler>(*out.model.engine);
  return out;
}

inline std::vector<int32_t> prompt(size_t n, uint32_t seed) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < n; ++i)
    out.push_back(static_cast<int32_t>((i * 37 + i / 60 * 11 + seed * 13) % kVocab));
  return out;
}

// What the model writes behind a text.
inline std::vector<int32_t> continued(std::vector<int32_t> text, size_t n) {
  std::vector<int32_t> out;
  for (size_t i = 0; i < n; ++i) {
    out.push_back(engine::test::FakeExecutor::next(text, kVocab));
    text.push_back(out.back());
  }
  return out;
}

inline Prepared asks(std::vector<int32_t> tokens, uint32_t n_answer) {
  Prepared out;
  out.prompt = std::move(tokens);
  out.request.sampling.temperature = 0;
  out.request.max_tokens = n_answer;
  return out;
}

// The next event that tells nothing of the prompt.
inline std::optional<Event> next_written(Answer& answer) {
  auto event = answer.next();
  while (event && event->prompt) event = answer.next();
  return event;
}
// Whatever has come; the tokens of it.
inline std::vector<int32_t> read_what_came(Answer& answer) {
  std::vector<int32_t> out;
  while (const auto event = next_written(answer)) out.push_back(event->token);
  return out;
}
// All of it, where a thread writes.
inline std::vector<int32_t> read_all(Answer& answer) {
  std::vector<int32_t> out;
  while (!answer.ended()) {
    answer.wait();
    const auto more = read_what_came(answer);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

}  // namespace puna::service::test
