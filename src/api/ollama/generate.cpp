#include "api/ollama/generate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/answer_fields.h"
#include "api/llama/fim.h"
#include "api/media.h"
#include "api/ollama/asked.h"
#include "api/ollama/writer.h"
#include "chat/parsers.h"

namespace puna::api::ollama {

using base::ErrorCode;
using base::Json;
using base::Result;
using service::Event;
using service::Reply;

namespace {

using Kind = Field::Kind;

constexpr Field kGenerateFields[] = {
    {"prompt", Kind::kText, "What is answered or, with raw, continued; none: loads the model."},
    {"system", Kind::kText, "What the model is told before."},
    Field{"raw", Kind::kFlag, "The prompt is continued as it stands."}.or_else("false"),
    {"suffix", Kind::kText, "What stands behind the answer, where the prompt stands before it."},
    refused("template", "prompts are made by the model's own template.", "\"\""),
    {"context", Kind::kList,
     "The `context` of an earlier answer, which this one goes on behind; not for models that "
     "think. "
     "Ollama has deprecated it for messages of /api/chat."},
    {"images", Kind::kTexts, "Pictures and sounds before the prompt, in base64."},
};

// Whether a body has one of what a raw prompt cannot have.
bool has_beside_raw(const Json& body) {
  if (const Json* raw = body.find("raw"); !raw || *raw != Json(true)) return false;
  for (const char* name : {"template", "system", "context"}) {
    const Json* value = body.find(name);
    if (value && !value->is_null() && *value != Json("") && *value != Json::array()) return true;
  }
  return false;
}

// Puts what an earlier answer has as its `context` in front of the prompt, which becomes tokens.
// The thinking of an answer is told from its text by the messages of its prompt, so that there is
// none. Errors: kInvalidArgument for what is no token; kUnsupported for models that think.
Result<void> go_on_behind(const Json& context, std::string_view name,
                          const service::LoadedModel& model, service::Request& request) {
  const bool thinks =
      model.abilities.thinking ||
      (model.chat_template && !chat::reply_style(model.chat_template->source()).thinking.empty());
  if (thinks) return does_not_support(name, "context");
  std::vector<int32_t> ids;
  for (const Json& each : context.items()) {
    const int64_t n_vocab = model.engine->config().vocab;
    if (!each.is_integer() || each.integer() < 0 || each.integer() >= n_vocab)
      return refuse_field("context", each, "a token of the model");
    ids.push_back(static_cast<int32_t>(each.integer()));
  }
  PUNA_TRY(const std::vector<int32_t> prompt, service::prompt_tokens(model, request));
  const std::optional<int32_t> bos = model.tokenizer->vocabulary().bos;
  const bool begins_anew = !prompt.empty() && bos && prompt.front() == *bos;
  ids.insert(ids.end(), prompt.begin() + (begins_anew ? 1 : 0), prompt.end());
  request.messages.clear();
  request.prompt.clear();
  request.tokens = std::move(ids);
  return {};
}

// Before the text of the prompt, which is the last message where there are messages.
Result<void> add_images(const Body& body, service::Request& request) {
  const Json* images = body.find("images");
  if (!images) return {};
  PUNA_TRY(const std::vector<MediaFile> files, media_of_list("images", *images));
  if (files.empty()) return {};
  if (!request.tokens.empty()) {
    return base::fail(ErrorCode::kInvalidArgument,
                      "The field \"images\" has no place beside \"suffix\".");
  }
  const size_t message = request.messages.empty() ? 0 : request.messages.size() - 1;
  for (const MediaFile& file : files) request.media.push_back({.message = message, .file = file});
  return {};
}

// `raw` answers have no `context`.
class GenerateWriter final : public LineWriter {
 public:
  GenerateWriter(const Asked& asked, uint32_t n_truncated, const service::LoadedModel& model,
                 bool raw)
      : LineWriter(asked, n_truncated, model), raw_(raw) {}

  void set_prompt(size_t, const service::Prepared& prepared) override {
    if (!raw_) context_ = prepared.prompt.tokens();
  }
  std::string next(size_t, const Event& event) override {
    note(event);
    if (event.text.empty()) return {};
    if (event.kind == Event::Kind::kContent) return line(head().set("response", event.text));
    // Without tools there are no calls.
    return line(head().set("response", "").set("thinking", event.text));
  }
  std::string end(size_t, const Reply& reply) override {
    return ndjson(last(with_context(head().set("response", ""), reply), reply));
  }
  HttpReply whole(std::vector<Reply> replies) override {
    const Reply& reply = replies.front();
    Json out = head().set("response", reply.text);
    if (!reply.parsed.reasoning.empty()) out.set("thinking", reply.parsed.reasoning);
    return answer(with_context(std::move(out), reply), reply);
  }

 private:
  Json with_context(Json out, const Reply& reply) const {
    // What stands for pictures in a prompt is no token that could be given back.
    const bool has_media = std::ranges::any_of(context_, [](int32_t id) { return id < 0; });
    if (raw_ || has_media) return out;
    Json ids = Json::array();
    for (const int32_t id : context_) ids.push(id);
    for (const int32_t id : reply.tokens) ids.push(id);
    return out.set("context", std::move(ids));
  }
  std::string line(Json out) { return ndjson(piece(std::move(out))); }

  const bool raw_;
  std::vector<int32_t> context_;  // of the prompt
};

}  // namespace

std::span<const Field> generate_fields() { return kGenerateFields; }

Result<Exchange> generate(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  if (has_beside_raw(call.body)) {
    return base::fail(ErrorCode::kInvalidArgument,
                      "raw mode does not support template, system, or context");
  }
  PUNA_TRY(const Body body, read_body(call.body, {kGenerateFields, asked_fields()}));
  PUNA_TRY(Asked asked, read_asked(body, call));
  std::string prompt = body.text("prompt").value_or("");
  const std::string suffix = body.text("suffix").value_or("");
  if (prompt.empty() && suffix.empty())
    return loaded_reply(asked, Json::object().set("response", ""));
  if (model.engine->options().embeddings) return does_not_support(asked.model, "generate");
  std::string system = body.text("system").value_or("");
  const bool no_template = !model.chat_template && !model.template_error;
  if (no_template && !system.empty()) return does_not_support(asked.model, "system");
  const bool raw = body.flag("raw").value_or(false);
  service::Request& request = asked.request;
  if (!suffix.empty()) {
    if (!system.empty()) {
      return base::fail(ErrorCode::kInvalidArgument,
                        "The field \"system\" has no place beside \"suffix\".");
    }
    const auto fim = llama::fim_tokens(model);
    if (!fim) return does_not_support(asked.model, "insert");
    request.tokens = llama::tokens_between(prompt, suffix, *fim, model);
    request.think = service::Think::kDefault;
  } else if (no_template || raw) {
    request.prompt = std::move(prompt);
    request.think = service::Think::kDefault;
  } else {
    if (!system.empty())
      request.messages.push_back({.role = "system", .content = std::move(system)});
    request.messages.push_back({.role = "user", .content = std::move(prompt)});
  }
  PUNA_TRY(add_images(body, request));
  if (const Json* context = body.find("context"); context && !context->items().empty()) {
    if (!request.media.empty()) {
      return base::fail(ErrorCode::kInvalidArgument,
                        "The field \"images\" has no place beside \"context\".");
    }
    PUNA_TRY(go_on_behind(*context, asked.model, model, request));
  }
  PUNA_TRY(const uint32_t n_truncated, fit(asked, model));
  Texts out;
  out.stream = asked.stream;
  out.writer = std::make_unique<GenerateWriter>(asked, n_truncated, model, raw);
  out.requests.push_back(std::move(request));
  return out;
}

}  // namespace puna::api::ollama
