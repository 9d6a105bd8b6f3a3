#include "api/ollama/embed.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/answer_fields.h"
#include "api/embedding_rows.h"
#include "api/ollama/asked.h"
#include "api/ollama/time.h"
#include "base/clock.h"
#include "service/embed.h"

namespace puna::api::ollama {

using base::ErrorCode;
using base::Json;
using base::Result;
using base::Task;

namespace {

using Kind = Field::Kind;

constexpr Field kModel = Field{"model", Kind::kText, "A name of the model."}.needed();
constexpr Field kKeepAlive =
    Field{"keep_alive", Kind::kAny,
          "How long the model stays, in seconds or as a duration; the one of a process always "
          "stays."}
        .shaped(R"("number|string")");
constexpr Field kOptions = passed_over("options", "There is nothing to choose.");

constexpr Field kEmbedFields[] = {
    kModel,
    Field{"input", Kind::kAny, "A text or a list of texts; none: loads the model."}.shaped(
        R"(["string", ["string"]])"),
    Field{"truncate", Kind::kFlag, "Texts that are too long are cut, and the answer says so."}
        .or_else("true"),
    {"dimensions", Kind::kInteger, "So many of the first numbers of each embedding.", 1,
     UINT32_MAX},
    kKeepAlive,
    kOptions,
};
constexpr Field kOldFields[] = {
    kModel,
    {"prompt", Kind::kText, "The text; none: loads the model."},
    kKeepAlive,
    kOptions,
};

struct Inputs {
  std::string model;  // as the client calls it
  std::vector<std::vector<int32_t>> tokens;
  uint32_t n_truncated = 0;
  size_t dimensions = SIZE_MAX;
  double load_ms = 0;  // that the request has waited for the model

  uint64_t n_tokens() const {
    uint64_t n = 0;
    for (const auto& text : tokens) n += text.size();
    return n;
  }
};

Result<std::vector<std::string>> read_texts(const Json* input) {
  const auto wrong = [] {
    return base::fail(ErrorCode::kInvalidArgument,
                      "invalid input type: the field \"input\" has to be a text or a list of "
                      "texts");
  };
  std::vector<std::string> out;
  if (!input) return out;
  if (input->is_string()) {
    if (!input->string().empty()) out.push_back(input->string());
    return out;
  }
  if (!input->is_array()) return wrong();
  if (input->items().size() > kMaxInputs) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The field \"input\" has {} texts, but at most {} are possible.",
                                  input->items().size(), kMaxInputs));
  }
  for (const Json& each : input->items()) {
    if (!each.is_string()) return wrong();
    out.push_back(each.string());
  }
  return out;
}

// Cuts the end of a text, but not what the vocabulary puts behind texts.
void cut(std::vector<int32_t>& ids, const std::string& text, const tokenizer::Tokenizer& tokenizer,
         size_t room) {
  const std::vector<int32_t> bare = tokenizer.encode(text, {.add_special = false});
  const auto found = std::ranges::search(ids, bare);
  const auto n_behind = std::min<ptrdiff_t>(ids.end() - found.end(), static_cast<ptrdiff_t>(room));
  const std::vector<int32_t> behind(ids.end() - n_behind, ids.end());
  ids.resize(room - behind.size());
  ids.insert(ids.end(), behind.begin(), behind.end());
}

Result<void> read_tokens(const std::vector<std::string>& texts, const service::LoadedModel& model,
                         bool truncate, Inputs& out) {
  PUNA_TRY(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(model));
  // Where tokens see those after them, a text is evaluated in one step.
  const bool one_step = !model.engine->config().causal;
  const size_t room =
      one_step ? std::min(model.context(), kernels::kMaxStepTokens) : model.context();
  for (const std::string& text : texts) {
    std::vector<int32_t> ids = tokenizer->encode(text);
    if (ids.size() > room && !truncate) {
      return base::fail(
          ErrorCode::kInvalidArgument,
          fmt::format("the input length exceeds the context length: text {} has {} tokens, but "
                      "the model reads {}",
                      out.tokens.size() + 1, ids.size(), room));
    }
    if (ids.size() > room) {
      out.n_truncated += static_cast<uint32_t>(ids.size() - room);
      cut(ids, text, *tokenizer, room);
    }
    out.tokens.push_back(std::move(ids));
  }
  return {};
}

Result<void> check_keep_alive(const Body& body) {
  if (const Json* value = body.find("keep_alive")) PUNA_TRY(read_keep_alive(*value));
  return {};
}

Json row_json(const std::vector<float>& row) {
  Json out = Json::array();
  for (const float v : row) out.push(double{v});
  return out;
}

HttpReply embed_reply(const Inputs& inputs, std::vector<std::vector<float>> rows,
                      const base::Timer& timer) {
  Json list = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].resize(std::min(rows[i].size(), inputs.dimensions));
    normalize(rows[i], /*norm=*/2);
    list.push(row_json(rows[i]));
  }
  Json out = Json::object();
  out.set("model", inputs.model).set("embeddings", std::move(list));
  out.set("total_duration", ns_of(inputs.load_ms + timer.ms()));
  out.set("load_duration", ns_of(inputs.load_ms));
  HttpReply http = HttpReply::json(out.set("prompt_eval_count", inputs.n_tokens()));
  if (inputs.n_truncated > 0)
    http.headers.emplace_back("X-Puna-Truncated", fmt::to_string(inputs.n_truncated));
  return http;
}

Task<Result<HttpReply>> run(service::LoadedModel& model, Inputs inputs, base::Timer timer,
                            const std::atomic<bool>& left) {
  PUNA_CO_TRY(auto rows, co_await service::embed(model, inputs.tokens, &left));
  co_return embed_reply(inputs, std::move(rows), timer);
}

Task<Result<HttpReply>> run_old(service::LoadedModel& model, Inputs inputs) {
  PUNA_CO_TRY(const auto rows, co_await service::embed(model, std::move(inputs.tokens)));
  co_return HttpReply::json(Json::object().set("embedding", row_json(rows.front())));
}

}  // namespace

std::span<const Field> embed_fields() { return kEmbedFields; }
std::span<const Field> old_embed_fields() { return kOldFields; }

Result<Exchange> embed(const Call& call) {
  const base::Timer timer;
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const Body body, read_body(call.body, {kEmbedFields}));
  PUNA_TRY(check_keep_alive(body));
  Inputs inputs;
  inputs.model = *body.text("model");
  inputs.load_ms = call.load_ms;
  PUNA_TRY(const std::vector<std::string> texts, read_texts(body.find("input")));
  if (texts.empty()) return embed_reply(inputs, {}, timer);
  if (auto refusal = no_embeddings(Dialect::kOllama, model)) return *std::move(refusal);
  PUNA_TRY(check_pooling(model));
  PUNA_TRY(read_tokens(texts, model, body.flag("truncate").value_or(true), inputs));
  if (const auto dimensions = body.integer("dimensions"))
    inputs.dimensions = static_cast<size_t>(*dimensions);
  const uint64_t n_tokens = inputs.n_tokens();
  return Job{.run = [inputs = std::move(inputs), timer](
                        service::LoadedModel& loaded,
                        const std::atomic<bool>& left) { return run(loaded, inputs, timer, left); },
             .n_tokens = n_tokens};
}

Result<Exchange> old_embed(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const Body body, read_body(call.body, {kOldFields}));
  PUNA_TRY(check_keep_alive(body));
  const std::string prompt = body.text("prompt").value_or("");
  if (prompt.empty()) return HttpReply::json(Json::object().set("embedding", Json::array()));
  if (auto refusal = no_embeddings(Dialect::kOllama, model)) return *std::move(refusal);
  PUNA_TRY(check_pooling(model));
  Inputs inputs;
  PUNA_TRY(read_tokens({prompt}, model, /*truncate=*/true, inputs));
  const uint64_t n_tokens = inputs.n_tokens();
  return Job{.run = [inputs = std::move(inputs)](
                        service::LoadedModel& loaded) { return run_old(loaded, inputs); },
             .n_tokens = n_tokens};
}

}  // namespace puna::api::ollama
