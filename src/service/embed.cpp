#include "service/embed.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace puna::service {

using base::Result;
using base::Task;

namespace {

using Rows = std::vector<std::vector<float>>;

// Of texts from `first` on as many as one step takes and the cache has pages for, and one at least.
size_t n_of_step(const engine::Engine& engine, const std::vector<std::vector<int32_t>>& texts,
                 size_t first) {
  const uint32_t most = engine.options().n_sequences, n_pages = engine.cache().n_pages();
  size_t n = 0, n_tokens = 0;
  uint64_t n_wanted = 0;
  for (; first + n < texts.size() && n < most; ++n) {
    const size_t length = texts[first + n].size();
    n_tokens += length;
    n_wanted += kernels::pages_for(length);
    if (n > 0 && (n_tokens > kernels::kMaxStepTokens || n_wanted > n_pages)) break;
  }
  return n;
}

// Those texts in one job; the first of them has first_number in messages.
Task<Result<Rows>> embed_together(LoadedModel& model, std::vector<std::vector<int32_t>> texts,
                                  size_t first_number, const std::atomic<bool>* cancelled) {
  Rows out;
  const auto job = [&](engine::Scheduler::Sequences sequences) -> Task<Result<void>> {
    // It may have waited for its turn.
    if (cancelled && *cancelled) {
      co_return base::fail(base::ErrorCode::kCancelled,
                           fmt::format("Nobody waits for the embeddings of text {} and those "
                                       "behind it any more.",
                                       first_number));
    }
    std::vector<uint32_t> own(sequences.begin(), sequences.end());
    PUNA_CO_TRY(out, co_await model.engine->embed(std::move(own), std::move(texts), first_number,
                                                  cancelled));
    co_return {};
  };
  std::vector<uint32_t> lengths;
  for (const auto& text : texts) lengths.push_back(static_cast<uint32_t>(text.size()));
  PUNA_CO_TRY(co_await model.scheduler->alone(std::move(lengths), job));
  co_return out;
}

}  // namespace

Task<Result<std::vector<std::vector<float>>>> embed(LoadedModel& model,
                                                    std::vector<std::vector<int32_t>> texts,
                                                    const std::atomic<bool>* cancelled) {
  if (!model.engine->options().embeddings) {
    co_return base::fail(base::ErrorCode::kUnsupported,
                         fmt::format("The model {} gives text, no embeddings.", model.name));
  }
  Rows out;
  while (out.size() < texts.size()) {
    const size_t first = out.size();
    const size_t n = n_of_step(*model.engine, texts, first);
    const auto begin = texts.begin() + static_cast<ptrdiff_t>(first);
    std::vector<std::vector<int32_t>> some(begin, begin + static_cast<ptrdiff_t>(n));
    PUNA_CO_TRY(Rows rows, co_await embed_together(model, std::move(some), first + 1, cancelled));
    std::ranges::move(rows, std::back_inserter(out));
  }
  co_return out;
}

Task<Result<std::vector<float>>> logits(LoadedModel& model, engine::Prompt prompt,
                                        const std::atomic<bool>* cancelled) {
  const size_t n = prompt.tokens().size();
  std::vector<float> out(n * model.engine->config().vocab);
  const auto job = [&](engine::Scheduler::Sequences sequences) {
    return model.engine->logits(sequences[0], prompt, out, cancelled);
  };
  std::vector<uint32_t> length(1, static_cast<uint32_t>(n));
  PUNA_CO_TRY(co_await model.scheduler->alone(std::move(length), job));
  co_return out;
}

}  // namespace puna::service
