#include "api/ollama/chat.h"

#include <fmt/format.h>

#include <random>
#include <utility>
#include <vector>

#include "api/answer_fields.h"
#include "api/media.h"
#include "api/ollama/asked.h"
#include "api/ollama/writer.h"
#include "chat/parsers.h"

namespace puna::api::ollama {

using base::Json;
using base::Result;
using service::Event;
using service::Reply;

namespace {

using Kind = Field::Kind;

constexpr Field kFunction[] = {
    Field{"name", Kind::kText, "Of the tool."}.needed(),
    {"arguments", Kind::kObject, "By their names."},
    passed_over("index", "Calls stand in their order."),
    passed_over("description", "Of the tool."),
};
constexpr Field kCall[] = {
    {"id", Kind::kText, "Of the call."},
    Field{"function", Kind::kObject, "What is called."}.needed().with(
        [] { return std::span<const Field>(kFunction); }),
    passed_over("type", "There is one."),
};
constexpr Field kMessage[] = {
    Field{"role", Kind::kText, "system, user, assistant or tool."}.needed(),
    {"content", Kind::kText, "The text."},
    {"thinking", Kind::kText, "What the model thought before it."},
    Field{"tool_calls", Kind::kList, "What the model called."}.with(
        [] { return std::span<const Field>(kCall); }),
    {"tool_name", Kind::kText, "Of a result: the tool."},
    {"tool_call_id", Kind::kText, "Of a result: the call."},
    Field{"images", Kind::kTexts, "Pictures and sounds before the text, in base64."},
};
constexpr Field kChatFields[] = {
    Field{"messages", Kind::kList, "The conversation; none: loads the model."}.with(
        [] { return std::span<const Field>(kMessage); }),
    Field{"tools", Kind::kList, "What the model may call, as OpenAI's interface lists it."}.shaped(
        R"([{"type?": "any", "function": {"name": "string"}}])"),
};

// As OpenAI's dialect and chat templates have it.
Result<Json> read_call(const Json& json) {
  if (!json.is_object()) return refuse_field("tool_calls", json, "a list of objects");
  PUNA_TRY(const Body body, Body::read(json, {kCall}));
  const Json* function = body.find("function");
  if (!function) return refuse_field("function", Json(), "an object");
  PUNA_TRY(const Body inner, Body::read(*function, {kFunction}));
  const auto name = inner.text("name");
  if (!name || name->empty()) return refuse_field("name", name ? Json(*name) : Json(), "a name");
  const Json* arguments = inner.find("arguments");
  Json out = Json::object(), called = Json::object();
  called.set("name", *name).set("arguments", (arguments ? *arguments : Json::object()).dump());
  if (const auto id = body.text("id")) out.set("id", *id);
  return out.set("type", "function").set("function", std::move(called));
}

Result<chat::Message> read_message(const Json& json, std::string_view reasoning_member) {
  if (!json.is_object()) return refuse_field("messages", json, "a list of objects");
  PUNA_TRY(const Body body, Body::read(json, {kMessage}));
  chat::Message out;
  out.role = body.text("role").value_or("");
  if (out.role.empty())
    return refuse_field("role", Json(out.role), "system, user, assistant or tool");
  out.content = body.text("content").value_or("");
  if (const auto thinking = body.text("thinking"))
    out.fields.set(std::string(reasoning_member), *thinking);
  if (const auto name = body.text("tool_name")) out.fields.set("name", *name);
  if (const auto id = body.text("tool_call_id")) out.fields.set("tool_call_id", *id);
  const Json* calls = body.find("tool_calls");
  if (!calls || calls->items().empty()) return out;
  Json list = Json::array();
  for (const Json& each : calls->items()) {
    PUNA_TRY(Json call, read_call(each));
    list.push(std::move(call));
  }
  out.fields.set("tool_calls", std::move(list));
  return out;
}

Result<void> read_tools(const Body& body, std::string_view name, const service::LoadedModel& model,
                        service::Request& request) {
  const Json* tools = body.find("tools");
  if (!tools || tools->items().empty()) return {};
  for (const Json& tool : tools->items()) {
    const Json* function = tool.find("function");
    const Json* called = function ? function->find("name") : nullptr;
    if (!called || !called->is_string())
      return refuse_field("tools", tool, "a list of {type, function: {name, …}}");
  }
  if (!model.abilities.tools) return does_not_support(name, "tools");
  request.tools = *tools;
  return {};
}

Result<void> read_messages(const Json& messages, const service::LoadedModel& model,
                           service::Request& request) {
  PUNA_TRY(const chat::Template* chat_template, service::template_of(model));
  const std::string_view reasoning = chat::reply_style(chat_template->source()).reasoning_member;
  for (const Json& each : messages.items()) {
    PUNA_TRY_CONTEXT(chat::Message message, read_message(each, reasoning),
                     fmt::format("While reading message {}", request.messages.size()));
    if (const Json* images = each.find("images"); images && !images->is_null()) {
      PUNA_TRY_CONTEXT(const std::vector<MediaFile> files, media_of_list("images", *images),
                       fmt::format("While reading message {}", request.messages.size()));
      for (const MediaFile& file : files)
        request.media.push_back({.message = request.messages.size(), .file = file});
    }
    request.messages.push_back(std::move(message));
  }
  const chat::Message& last = request.messages.back();
  request.continue_last =
      model.defaults.continues_last && last.role == "assistant" && !last.fields.find("tool_calls");
  return {};
}

class ChatWriter final : public LineWriter {
 public:
  using LineWriter::LineWriter;

  // Calls are written when they are over: arguments are objects.
  std::string next(size_t, const Event& event) override {
    std::string out;
    switch (event.kind) {
      case Event::Kind::kCallBegin:
        out = write_calls();
        first_call_ = event.call;
        calls_.push_back({.name = event.text});
        break;
      case Event::Kind::kArguments:
        calls_.back().arguments += event.text;
        break;
      case Event::Kind::kCallDrop:
        calls_.clear();
        break;
      case Event::Kind::kCallId:  // clients get ids of our own, which are never missing
        break;
      case Event::Kind::kContent:
      case Event::Kind::kReasoning:
        if (event.text.empty()) break;
        out = write_calls();
        note(event);
        return out + line(event.kind == Event::Kind::kContent ? message(event.text)
                                                              : thinking("", event.text));
    }
    note(event);
    return out;
  }

  std::string end(size_t, const Reply& reply) override {
    std::string out = write_calls();
    return out + ndjson(last(head().set("message", message("")), reply));
  }

  HttpReply whole(std::vector<Reply> replies) override {
    const Reply& reply = replies.front();
    Json out = message(reply.text);
    if (!reply.parsed.reasoning.empty()) out = thinking(reply.text, reply.parsed.reasoning);
    if (!reply.parsed.tool_calls.empty())
      out.set("tool_calls", calls_json(reply.parsed.tool_calls, 0));
    return answer(head().set("message", std::move(out)), reply);
  }

 private:
  static Json message(std::string_view content) {
    return Json::object().set("role", "assistant").set("content", content);
  }
  static Json thinking(std::string_view content, std::string_view text) {
    return message(content).set("thinking", text);
  }
  std::string line(Json message) {
    return ndjson(piece(head().set("message", std::move(message))));
  }

  Json calls_json(const std::vector<chat::ToolCall>& calls, size_t first) const {
    Json out = Json::array();
    for (const chat::ToolCall& call : calls) {
      const size_t index = first + out.items().size();
      Json function = Json::object();
      function.set("index", index).set("name", call.name);
      function.set("arguments", Json::parse(call.arguments).value_or(Json::object()));
      Json one = Json::object().set("id", fmt::format("call_{}{:04x}", id_, index));
      out.push(one.set("function", std::move(function)));
    }
    return out;
  }
  std::string write_calls() {
    if (calls_.empty()) return {};
    Json out = message("").set("tool_calls", calls_json(calls_, first_call_));
    calls_.clear();
    return line(std::move(out));
  }

  static std::string random_digits() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
  }

  const std::string id_ = random_digits();
  std::vector<chat::ToolCall> calls_;  // the one that may still be written
  size_t first_call_ = 0;
};

}  // namespace

std::span<const Field> chat_fields() { return kChatFields; }

Result<Exchange> chat(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const Body body, read_body(call.body, {kChatFields, asked_fields()}));
  PUNA_TRY(Asked asked, read_asked(body, call));
  const Json* messages = body.find("messages");
  if (!messages || messages->items().empty()) {
    Json message = Json::object().set("role", "assistant").set("content", "");
    return loaded_reply(asked, Json::object().set("message", std::move(message)));
  }
  const bool no_template = !model.chat_template && !model.template_error;
  if (model.engine->options().embeddings || no_template)
    return does_not_support(asked.model, "chat");
  PUNA_TRY(read_messages(*messages, model, asked.request));
  PUNA_TRY(read_tools(body, asked.model, model, asked.request));
  PUNA_TRY(const uint32_t n_truncated, fit(asked, model));
  Texts out;
  out.stream = asked.stream;
  out.writer = std::make_unique<ChatWriter>(asked, n_truncated, model);
  out.requests.push_back(std::move(asked.request));
  return out;
}

}  // namespace puna::api::ollama
