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
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto job = [&](uint32_t sequence) -> Task<Result<void>> {
      PUNA_CO_TRY(out.emplace_back(), co_await model.engine->embed(sequence, texts[i]));
      co_return {};
    };
    PUNA_CO_TRY_CONTEXT(
        co_await model.scheduler->alone(static_cast<uint32_t>(texts[i].size()), job),
        fmt::format("While reading text {}", i + 1));
  }
  co_return out;
}

Task<Result<std::vector<float>>> logits(LoadedModel& model, std::vector<int32_t> tokens) {
  std::vector<float> out(tokens.size() * model.engine->config().vocab);
  const auto job = [&](uint32_t sequence) { return model.engine->logits(sequence, tokens, out); };
  PUNA_CO_TRY(co_await model.scheduler->alone(static_cast<uint32_t>(tokens.size()), job));
  co_return out;
}

}  // namespace puna::service
