#include "api/ollama/generate.h"

#include <utility>
#include <vector>

#include "api/answer_fields.h"
#include "api/llama/fim.h"
#include "api/ollama/asked.h"
#include "api/ollama/writer.h"

namespace puna::api::ollama {

using base::ErrorCode;
using base::Json;
using base::Result;
using service::Event;
using service::Reply;

namespace {

using Kind = Field::Kind;

constexpr Field kFields[] = {
    {"prompt", Kind::kText, "What is answered or, with raw, continued; none: loads the model."},
    {"system", Kind::kText, "What the model is told before."},
    Field{"raw", Kind::kFlag, "The prompt is continued as it stands."}.or_else("false"),
    {"suffix", Kind::kText, "What stands behind the answer, where the prompt stands before it."},
    refused("template", "prompts are made by the model's own template.", "\"\""),
    refused("context", "earlier texts are sent as messages to /api/chat.", "[]"),
    refused("images", "images cannot be read yet.", "[]"),
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

// A prompt at whose end the model writes what stands between two texts.
Result<std::vector<int32_t>> infill_tokens(std::string_view before, std::string_view behind,
                                           std::string_view name,
                                           const service::LoadedModel& model) {
  PUNA_TRY(const tokenizer::Tokenizer* tokenizer, service::tokenizer_of(model));
  const auto fim = llama::fim_tokens(model);
  if (!fim) return does_not_support(name, "insert");
  std::vector<int32_t> out;
  const tokenizer::Vocabulary& vocabulary = tokenizer->vocabulary();
  if (vocabulary.add_bos && vocabulary.bos) out.push_back(*vocabulary.bos);
  const auto add = [&](int32_t mark, std::string_view text) {
    out.push_back(mark);
    const auto ids = tokenizer->encode(text, {.add_special = false, .parse_special = false});
    out.insert(out.end(), ids.begin(), ids.end());
  };
  add(fim->prefix, before);
  add(fim->suffix, behind);
  add(fim->middle, "");
  return out;
}

class GenerateWriter final : public LineWriter {
 public:
  using LineWriter::LineWriter;

  std::string next(size_t, const Event& event) override {
    note(event);
    if (event.text.empty()) return {};
    if (event.kind == Event::Kind::kContent) return line(head().set("response", event.text));
    // Without tools there are no calls.
    return line(head().set("response", "").set("thinking", event.text));
  }
  std::string end(size_t, const Reply& reply) override {
    return ndjson(last(head().set("response", ""), reply));
  }
  HttpReply whole(std::vector<Reply> replies) override {
    const Reply& reply = replies.front();
    Json out = head().set("response", reply.text);
    if (!reply.parsed.reasoning.empty()) out.set("thinking", reply.parsed.reasoning);
    return answer(std::move(out), reply);
  }

 private:
  std::string line(Json out) { return ndjson(piece(std::move(out))); }
};

}  // namespace

std::span<const Field> generate_fields() { return kFields; }

Result<Exchange> generate(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  if (has_beside_raw(call.body)) {
    return base::fail(ErrorCode::kInvalidArgument,
                      "raw mode does not support template, system, or context");
  }
  PUNA_TRY(const Body body, read_body(call.body, {kFields, asked_fields()}));
  PUNA_TRY(Asked asked, read_asked(body, call));
  std::string prompt = body.text("prompt").value_or("");
  const std::string suffix = body.text("suffix").value_or("");
  if (prompt.empty() && suffix.empty())
    return loaded_reply(asked, Json::object().set("response", ""));
  if (model.engine->options().embeddings) return does_not_support(asked.model, "generate");
  std::string system = body.text("system").value_or("");
  const bool no_template = !model.chat_template && !model.template_error;
  if (no_template && !system.empty()) return does_not_support(asked.model, "system");
  service::Request& request = asked.request;
  if (!suffix.empty()) {
    if (!system.empty()) {
      return base::fail(ErrorCode::kInvalidArgument,
                        "The field \"system\" has no place beside \"suffix\".");
    }
    PUNA_TRY(request.tokens, infill_tokens(prompt, suffix, asked.model, model));
    request.think = service::Think::kDefault;
  } else if (no_template || body.flag("raw").value_or(false)) {
    request.prompt = std::move(prompt);
    request.think = service::Think::kDefault;
  } else {
    if (!system.empty())
      request.messages.push_back({.role = "system", .content = std::move(system)});
    request.messages.push_back({.role = "user", .content = std::move(prompt)});
  }
  PUNA_TRY(const uint32_t n_truncated, fit(asked, model));
  Texts out;
  out.stream = asked.stream;
  out.writer = std::make_unique<GenerateWriter>(asked, n_truncated, model);
  out.requests.push_back(std::move(request));
  return out;
}

}  // namespace puna::api::ollama
