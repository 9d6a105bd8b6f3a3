#include "service/embed.h"

#include <fmt/format.h>

namespace puna::service {

using base::Result;
using base::Task;

Task<Result<std::vector<std::vector<float>>>> embed(LoadedModel& model,
                                                    std::vector<std::vector<int32_t>> texts) {
  if (!model.engine->options().embeddings) {
    co_return base::fail(base::ErrorCode::kUnsupported,
                         fmt::format("The model {} gives text, no embeddings.", model.name));
  }
  std::vector<std::vector<float>> out;
  const size_t most = model.engine->options().n_sequences;
  while (out.size() < texts.size()) {
    // As many as a step takes.
    const size_t first = out.size();
    std::vector<uint32_t> lengths;
    uint64_t n_tokens = 0;
    for (size_t i = first; i < texts.size() && lengths.size() < most; ++i) {
      n_tokens += texts[i].size();
      if (!lengths.empty() && n_tokens > kernels::kMaxStepTokens) break;
      lengths.push_back(static_cast<uint32_t>(texts[i].size()));
    }
    const auto begin = texts.begin() + static_cast<ptrdiff_t>(first);
    const std::vector<std::vector<int32_t>> some(begin, begin + std::ssize(lengths));
    const auto job = [&](engine::Scheduler::Sequences sequences) -> Task<Result<void>> {
      PUNA_CO_TRY(auto rows, co_await model.engine->embed({sequences.begin(), sequences.end()},
                                                          some, first + 1));
      for (std::vector<float>& row : rows) out.push_back(std::move(row));
      co_return {};
    };
    PUNA_CO_TRY(co_await model.scheduler->alone(std::move(lengths), job));
  }
  co_return out;
}

Task<Result<std::vector<float>>> logits(LoadedModel& model, std::vector<int32_t> tokens) {
  std::vector<float> out(tokens.size() * model.engine->config().vocab);
  const auto job = [&](engine::Scheduler::Sequences sequences) {
    return model.engine->logits(sequences[0], tokens, out);
  };
  std::vector<uint32_t> length(1, static_cast<uint32_t>(tokens.size()));
  PUNA_CO_TRY(co_await model.scheduler->alone(std::move(length), job));
  co_return out;
}

}  // namespace puna::service
