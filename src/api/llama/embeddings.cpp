#include "api/llama/embeddings.h"

#include <fmt/format.h>

#include "api/embedding_rows.h"
#include "service/embed.h"

namespace puna::api::llama {

using base::Json;
using base::Result;
using base::Task;

namespace {

using Kind = Field::Kind;

constexpr Field kEmbeddingsFields[] = {
    Field{"content", Kind::kAny, "A text, token ids, both mixed, or a list of such."}.shaped(
        kPromptsShape),
    Field{"input", Kind::kAny, "The same as content."}.shaped(kPromptsShape).same("content"),
    Field{"embd_normalize", Kind::kInteger,
          "The norm by which embeddings are divided: -1: none, 0: the largest value, 2: Euclid's.",
          -1, 64}
        .or_else("2"),
    {"model", Kind::kText, "A name of the model."},
};

Json numbers(std::span<const float> row) {
  Json out = Json::array();
  for (const float v : row) out.push(double{v});
  return out;
}

Task<Result<HttpReply>> run(service::LoadedModel& model, Inputs inputs, int norm,
                            const std::atomic<bool>& left) {
  PUNA_CO_TRY(auto texts, co_await service::embed(model, std::move(inputs.tokens), &left));
  const bool pools = model.engine->pooling() != models::Pooling::kNone;
  const size_t width = model.engine->n_out();
  Json out = Json::array();
  for (std::vector<float>& values : texts) {
    if (pools) normalize(values, norm);
    Json rows = Json::array();
    for (size_t at = 0; at < values.size(); at += width)
      rows.push(numbers(std::span(values).subspan(at, width)));
    Json one = Json::object();
    one.set("index", static_cast<uint64_t>(out.items().size()));
    out.push(one.set("embedding", std::move(rows)));
  }
  co_return HttpReply::json(out);
}

}  // namespace

std::span<const Field> embedding_fields() { return kEmbeddingsFields; }

Result<Exchange> embeddings(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const Body body, Body::read(call.body, {kEmbeddingsFields}));
  const std::string_view field = body.has("input") ? "input" : "content";
  PUNA_TRY(const Prompts prompts, read_prompts(field, body.find(field), model, kMaxInputs));
  PUNA_TRY(Inputs inputs, inputs_of(prompts, model));
  if (auto none = no_embeddings(Dialect::kLlama, model)) return *std::move(none);
  if (model.engine->pooling() == models::Pooling::kRank) {
    return base::fail(
        base::ErrorCode::kInvalidArgument,
        fmt::format("The model {} gives scores, no embeddings; ask /rerank.", model.name));
  }
  const auto norm =
      static_cast<int>(body.integer("embd_normalize").value_or(model.defaults.embedding_norm));
  const uint64_t n_tokens = inputs.n_tokens;
  return Job{.run = [inputs = std::move(inputs), norm](
                        service::LoadedModel& loaded,
                        const std::atomic<bool>& left) { return run(loaded, inputs, norm, left); },
             .n_tokens = n_tokens};
}

}  // namespace puna::api::llama
