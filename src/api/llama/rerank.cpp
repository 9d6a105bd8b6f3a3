#include "api/llama/rerank.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "api/answer_fields.h"
#include "api/embedding_rows.h"
#include "service/embed.h"

namespace puna::api::llama {

using base::Json;
using base::Result;
using base::Task;

namespace {

using Kind = Field::Kind;

constexpr Field kRerankFields[] = {
    Field{"query", Kind::kText, "The question."}.needed(),
    Field{"documents", Kind::kList, "The texts."}.shaped(R"(["+", "string"])"),
    Field{"texts", Kind::kList,
          "The same; answers then have the form of text-embeddings-inference."}
        .shaped(R"(["+", "string"])"),
    {"top_n", Kind::kInteger, "So many of the best; all by default.", 1, kMaxInputs},
    Field{"return_documents", Kind::kFlag, "With the documents."}.or_else("false"),
    Field{"return_text", Kind::kFlag, "With the texts."}.or_else("false"),
    {"model", Kind::kText, "A name of the model."},
    passed_over("raw_scores", "Scores are always as the model gives them."),
    passed_over("truncate", "Nothing is cut; what is too long is refused."),
    passed_over("user", "Who asks."),
};

Result<std::vector<std::string>> read_texts(const Body& body, std::string_view field) {
  const Json* list = body.find(field);
  constexpr std::string_view kWanted = "a list of texts, at least one";
  if (!list || list->items().empty()) return refuse_field(field, list ? *list : Json(), kWanted);
  if (list->items().size() > kMaxInputs) {
    return base::fail(base::ErrorCode::kInvalidArgument,
                      fmt::format("The field \"{}\" has {} texts, but at most {} are possible.",
                                  field, list->items().size(), kMaxInputs));
  }
  std::vector<std::string> out;
  for (const Json& text : list->items()) {
    if (!text.is_string()) return refuse_field(field, *list, kWanted);
    out.push_back(text.string());
  }
  return out;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

Result<void> check_length(const service::LoadedModel& model, size_t n_tokens) {
  if (n_tokens <= model.context()) return {};
  return base::fail(base::ErrorCode::kInvalidArgument,
                    fmt::format("The query and the text have {} tokens, but the model reads {}.",
                                n_tokens, model.context()));
}

Task<Result<HttpReply>> run(service::LoadedModel& model, std::vector<std::vector<int32_t>> pairs,
                            Ranking ranking, const std::atomic<bool>& left) {
  PUNA_CO_TRY(const auto rows, co_await service::embed(model, std::move(pairs), &left));
  std::vector<float> scores;
  for (const std::vector<float>& row : rows) scores.push_back(row.front());
  co_return HttpReply::json(ranking_json(ranking, scores));
}

}  // namespace

std::span<const Field> rerank_fields() { return kRerankFields; }

Result<std::vector<int32_t>> pair_tokens(const service::LoadedModel& model, std::string_view query,
                                         std::string_view text) {
  PUNA_TRY(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(model));
  const formats::ModelFile& file = model.engine->file();
  PUNA_TRY(const std::string form, file.get_string("tokenizer.chat_template.rerank", ""));
  if (!form.empty()) {
    // The text last: what it says is no place to be filled.
    const size_t at = form.find("{document}");
    const std::string head = replaced(form.substr(0, at), "{query}", query);
    if (at == std::string::npos) return tokenizer->encode(head);
    const std::string tail =
        replaced(form.substr(at + std::string_view("{document}").size()), "{query}", query);
    return tokenizer->encode(head + std::string(text) + tail);
  }
  const tokenizer::Vocabulary& vocabulary = tokenizer->vocabulary();
  std::vector<int32_t> out;
  const auto add = [&](std::string_view part) {
    const auto ids = tokenizer->encode(part, {.add_special = false, .parse_special = false});
    out.insert(out.end(), ids.begin(), ids.end());
    if (vocabulary.eos) out.push_back(*vocabulary.eos);
  };
  if (vocabulary.bos) out.push_back(*vocabulary.bos);
  add(query);
  const bool bert = vocabulary.model == "bert";
  PUNA_TRY(const bool separate, file.get_bool("tokenizer.ggml.add_sep_token", true));
  if (!bert && separate && vocabulary.eos) {
    PUNA_TRY(const uint64_t separator, file.get_uint("tokenizer.ggml.seperator_token_id",
                                                     static_cast<uint64_t>(*vocabulary.eos)));
    out.push_back(static_cast<int32_t>(separator));
  }
  add(text);
  return out;
}

Json ranking_json(const Ranking& ranking, std::span<const float> scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min(order.size(), ranking.top_n));
  Json results = Json::array();
  for (const size_t i : order) {
    Json one = Json::object();
    one.set("index", static_cast<uint64_t>(i));
    one.set(ranking.tei ? "score" : "relevance_score", double{scores[i]});
    if (ranking.return_texts && ranking.tei) one.set("text", ranking.texts[i]);
    if (ranking.return_texts && !ranking.tei)
      one.set("document", Json::object().set("text", ranking.texts[i]));
    results.push(std::move(one));
  }
  if (ranking.tei) return results;
  Json usage = Json::object();
  usage.set("prompt_tokens", ranking.n_tokens).set("total_tokens", ranking.n_tokens);
  Json out = Json::object();
  out.set("model", ranking.model).set("object", "list").set("usage", std::move(usage));
  return out.set("results", std::move(results));
}

Result<Exchange> rerank(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const Body body, Body::read(call.body, {kRerankFields}));
  Ranking ranking;
  ranking.model = call.model->id;
  ranking.tei = body.has("texts");
  const auto query = body.text("query");
  if (!query) return refuse_field("query", Json(), "a text");
  PUNA_TRY(ranking.texts, read_texts(body, ranking.tei ? "texts" : "documents"));
  ranking.top_n = static_cast<size_t>(
      body.integer("top_n").value_or(static_cast<int64_t>(ranking.texts.size())));
  ranking.return_texts =
      body.flag(ranking.tei ? "return_text" : "return_documents").value_or(false);
  if (!model.engine->options().embeddings || model.engine->pooling() != models::Pooling::kRank) {
    return HttpReply::json(
        error_body(Dialect::kLlama, 501,
                   fmt::format("The model {} was not loaded to give scores (pooling \"rank\").",
                               model.name)),
        501);
  }
  std::vector<std::vector<int32_t>> pairs;
  for (const std::string& text : ranking.texts) {
    PUNA_TRY(pairs.emplace_back(), pair_tokens(model, *query, text));
    // Before more of them are made: each has the query in it.
    PUNA_TRY_CONTEXT(check_length(model, pairs.back().size()),
                     fmt::format("While reading text {}", pairs.size()));
    ranking.n_tokens += pairs.back().size();
  }
  const uint64_t n_tokens = ranking.n_tokens;
  return Job{
      .run = [pairs = std::move(pairs), ranking](
                 service::LoadedModel& loaded,
                 const std::atomic<bool>& left) { return run(loaded, pairs, ranking, left); },
      .n_tokens = n_tokens};
}

}  // namespace puna::api::llama
