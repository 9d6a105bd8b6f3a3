#include "api/openai/embeddings.h"

#include <fmt/format.h>

#include <atomic>

#include "api/answer_fields.h"
#include "service/embed.h"

namespace puna::api::openai {

using base::Json;
using base::Result;
using base::Task;

namespace {

using Kind = Field::Kind;

constexpr Field kEmbeddingsFields[] = {
    Field{"input", Kind::kAny, "A text, token ids, both mixed, or a list of such."}.needed().shaped(
        kPromptsShape),
    {"model", Kind::kText, "A name of the model."},
    Field{"encoding_format", Kind::kText, "Numbers, or their bytes as little-endian floats."}
        .one_of("float|base64")
        .or_else("\"float\""),
    Field{"embd_normalize", Kind::kInteger,
          "The norm by which embeddings are divided: -1: none, 0: the largest value, 2: Euclid's.",
          -1, 64}
        .or_else("2"),
    {"dimensions", Kind::kInteger, "So many of the first numbers of each embedding.", 1,
     UINT32_MAX},
    passed_over("user", "Who asks."),
};

Task<Result<HttpReply>> run(service::LoadedModel& model, Embeddings asked, std::string id,
                            const std::atomic<bool>& left) {
  PUNA_CO_TRY(auto rows, co_await service::embed(model, asked.inputs.tokens, &left));
  const size_t size = rows.front().size();
  if (asked.dimensions.value_or(0) > size) {
    co_return base::fail(base::ErrorCode::kInvalidArgument,
                         fmt::format("The field \"dimensions\" is {}, but embeddings of the model "
                                     "have {} numbers.",
                                     *asked.dimensions, size));
  }
  co_return HttpReply::json(embeddings_json(asked, std::move(rows), id));
}

}  // namespace

std::span<const Field> embedding_fields() { return kEmbeddingsFields; }

Result<Embeddings> read_embeddings(const Json& json, const service::LoadedModel& model) {
  PUNA_TRY(const Body body, Body::read(json, {kEmbeddingsFields}));
  Embeddings out;
  PUNA_TRY(const Prompts prompts, read_prompts("input", body.find("input"), model, kMaxInputs));
  PUNA_TRY(out.inputs, inputs_of(prompts, model));
  if (body.text("encoding_format") == "base64") out.encoding = Encoding::kBase64;
  if (const auto dimensions = body.integer("dimensions"))
    out.dimensions = static_cast<size_t>(*dimensions);
  out.norm =
      static_cast<int>(body.integer("embd_normalize").value_or(model.defaults.embedding_norm));
  return out;
}

Json embeddings_json(const Embeddings& asked, std::vector<std::vector<float>> rows,
                     std::string_view model) {
  Json data = Json::array();
  for (std::vector<float>& row : rows) {
    row.resize(asked.dimensions.value_or(row.size()));
    normalize(row, asked.norm);
    data.push(embedding_json(data.items().size(), row, asked.encoding));
  }
  Json usage = Json::object();
  usage.set("prompt_tokens", asked.inputs.n_tokens).set("total_tokens", asked.inputs.n_tokens);
  Json out = Json::object();
  out.set("object", "list").set("data", std::move(data)).set("model", model);
  return out.set("usage", std::move(usage));
}

Result<Exchange> embeddings(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(Embeddings asked, read_embeddings(call.body, model));
  if (auto none = no_embeddings(Dialect::kOpenAi, model)) return *std::move(none);
  PUNA_TRY(check_pooling(model));
  const uint64_t n_tokens = asked.inputs.n_tokens;
  return Job{.run = [asked = std::move(asked), id = call.model->id](
                        service::LoadedModel& loaded,
                        const std::atomic<bool>& left) { return run(loaded, asked, id, left); },
             .n_tokens = n_tokens};
}

}  // namespace puna::api::openai
