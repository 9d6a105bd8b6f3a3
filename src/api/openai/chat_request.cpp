#include "api/openai/chat_request.h"

#include <fmt/format.h>

#include <span>
#include <string_view>
#include <utility>

#include "api/media.h"
#include "api/sampling.h"
#include "api/tool_choice.h"
#include "chat/parsers.h"

namespace puna::api::openai {

using base::ErrorCode;
using base::Json;
using base::Result;
using service::Think;

namespace {

using Kind = Field::Kind;

constexpr uint32_t kMostTop = 20;  // as OpenAI has it
constexpr double kMostThinking = UINT32_MAX;
constexpr size_t kMostVariables = 1000;  // no template reads as many

constexpr Field kStreamOptions[] = {
    Field{"include_usage", Kind::kFlag, "A last chunk has the usage."}.or_else("false"),
    passed_over("include_obfuscation", "Chunks are as long as they are."),
};

constexpr Field kChatRequestFields[] = {
    Field{"messages", Kind::kList, "The conversation: {role, content, …}."}.needed().shaped(
        R"(["+", {"role": "string", "content?": ["string", "null", [[{"type": "=text", "text": "string"},
               {"type": "=image_url", "image_url": {"url": "string", "detail?": "=auto|low|high|original"}},
               {"type": "=input_audio", "input_audio": {"data": "string", "format?": "=wav|mp3|flac|ogg"}}]]],
             "reasoning_content?": "any", "tool_calls?": "any", "tool_call_id?": "any"}])"),
    Field{"stream_options", Kind::kObject, "What a stream has besides."}.with(stream_option_fields),
    Field{"logprobs", Kind::kFlag, "Tokens come with their probabilities."}.or_else("false"),
    Field{"top_logprobs", Kind::kInteger, "With logprobs: so many of the most probable tokens too.",
          0, kMostTop}
        .or_else("0"),
    Field{"tools", Kind::kList,
          "What the model may call: {type: \"function\", function: {name, …}}."}
        .shaped(R"([{"type?": "=function", "function": {"name": "string"}}])"),
    Field{"reasoning_effort", Kind::kText, "How much the model thinks."}.one_of(
        "none|minimal|low|medium|high|xhigh|max"),
    Field{"reasoning_format", Kind::kText,
          "Thinking comes as reasoning_content; none: in the content, between its marks; "
          "deepseek-legacy: both."}
        .one_of("auto|none|deepseek|deepseek-legacy")
        .or_else("\"auto\""),
    Field{"reasoning_budget_tokens", Kind::kInteger,
          "Tokens of thinking at most, behind which it is ended; -1: no limit.", -1, kMostThinking}
        .or_else("-1"),
    Field{"thinking_budget_tokens", Kind::kInteger, "The same as reasoning_budget_tokens.", -1,
          kMostThinking}
        .same("reasoning_budget_tokens"),
    {"reasoning_budget_message", Kind::kText, "What is written where thinking is ended."},
    Field{"reasoning_control", Kind::kFlag,
          "The thinking may be ended while it is written, at /v1/chat/completions/control."}
        .or_else("false"),
    {"chat_template_kwargs", Kind::kObject, "Variables of the template, enable_thinking too."},
    Field{"add_generation_prompt", Kind::kFlag,
          "The prompt ends with what answers begin with, unless the last message is continued."}
        .or_else("true"),
    {"continue_final_message", Kind::kFlag, "Whether the last message is continued."},
    refused("functions", "tools have their place."),
    refused("function_call", "tool_choice has its place.", "\"auto\""),
    refused("audio", "answers are text."),
    refused("modalities", "answers are text.", R"(["text"])"),
    refused("web_search_options", "nothing is searched for."),
    refused("parse_tool_calls", "calls are always read; leave the tools out.", "true"),
    passed_over("prediction", "What is predicted makes nothing faster here."),
    passed_over("verbosity", "There is no such switch in templates."),
};

// A content of parts becomes one text, with pictures and sounds in it.
Result<Content> read_parts(const Json& parts) {
  Content out;
  for (const Json& part : parts.items()) {
    if (!part.is_object()) return refuse_field("content", part, "a text or a list of parts");
    const Json* type = part.find("type");
    const Json* text = part.find("text");
    PUNA_TRY(MediaFile media, media_of_part(part));
    if (media) {
      out.add(std::move(media));
    } else if (type && *type == Json("text")) {
      if (!text || !text->is_string()) return refuse_field("text", text ? *text : Json(), "a text");
      out.text += text->string();
    } else {
      return cannot(
          "messages",
          fmt::format("of the parts of a message text, image_url and input_audio can be "
                      "read, and this is {}",
                      type && type->is_string() ? "\"" + type->string() + "\"" : "of no type"));
    }
  }
  return out;
}

Result<Content> read_content(const Json& value) {
  if (value.is_null()) return Content();
  if (value.is_string()) return Content(value.string());
  if (value.is_array()) return read_parts(value);
  return refuse_field("content", value, "a text or a list of parts");
}

// `media`: of the message.
Result<chat::Message> read_message(const Json& json, const TemplateNames& names,
                                   std::vector<service::PlacedMedia>& media) {
  if (!json.is_object()) return refuse_field("messages", json, "a list of objects");
  chat::Message out;
  PUNA_TRY(out.role, json.get_string("role"));
  if (out.role == "developer") out.role = names.developer;
  for (const auto& [key, value] : json.members()) {
    if (key == "role") continue;
    if (key == "content") {
      PUNA_TRY(Content content, read_content(value));
      out.content = std::move(content.text);
      media = std::move(content.media);
    } else if (key == "reasoning_content" || key == names.reasoning) {
      out.fields.set(std::string(names.reasoning), value);
    } else {
      out.fields.add(key, value);
    }
  }
  return out;
}

Result<void> read_messages(const Body& body, const service::LoadedModel& model,
                           service::Request& request) {
  const Json* messages = body.find("messages");
  if (messages == nullptr || messages->items().empty()) {
    return refuse_field("messages", messages == nullptr ? Json() : *messages,
                        "a list of at least one message");
  }
  const TemplateNames names = template_names(model);
  for (const Json& json : messages->items()) {
    std::vector<service::PlacedMedia> media;
    PUNA_TRY_CONTEXT(chat::Message message, read_message(json, names, media),
                     fmt::format("While reading message {}", request.messages.size()));
    for (service::PlacedMedia& one : media) {
      one.message = request.messages.size();
      request.media.push_back(std::move(one));
    }
    request.messages.push_back(std::move(message));
  }
  return {};
}

// Where the answer begins: in the last message, behind what answers begin with, or without that.
Result<void> read_beginning(const Body& body, const service::LoadedModel& model,
                            service::Request& request) {
  const std::span<const chat::Message> messages = request.messages;
  const chat::Message& last = messages.back();
  const auto asked = body.flag("continue_final_message");
  const bool calls = last.fields.find("tool_calls") != nullptr;
  const bool goes_on =
      asked.value_or(model.defaults.continues_last && last.role == "assistant" && !calls);
  const auto begins = body.flag("add_generation_prompt");
  if (asked.value_or(false) && begins.value_or(false)) {
    return base::fail(
        ErrorCode::kInvalidArgument,
        "The fields \"continue_final_message\" and \"add_generation_prompt\" are both "
        "true, but a message cannot be continued and a new one begun.");
  }
  if (goes_on && messages.size() > 1 && messages[messages.size() - 2].role == "assistant") {
    return base::fail(ErrorCode::kInvalidArgument,
                      "The last two messages are of the assistant, but only one can be continued.");
  }
  request.continue_last = goes_on;
  request.begins_answer = begins.value_or(true);
  return {};
}

Result<void> check_tool(const Json& tool) {
  const Json* type = tool.find("type");
  if (type && type->is_string() && *type != Json("function"))
    return cannot("tools", fmt::format("there is no tool of the type \"{}\"", type->string()));
  const Json* function = tool.find("function");
  const Json* name = function ? function->find("name") : nullptr;
  if (!name || !name->is_string() || name->string().empty()) {
    return refuse_field("tools", tool, "{\"type\": \"function\", \"function\": {\"name\", …}}");
  }
  const Json* strict = function->find("strict");
  if (strict && !strict->is_null() && !strict->is_bool())
    return refuse_field("strict", *strict, "true or false");
  const Json* parameters = function->find("parameters");
  if (parameters && !parameters->is_null() && !parameters->is_object())
    return refuse_field("parameters", *parameters, "a JSON schema, which is an object");
  return {};
}

Result<void> read_tools(const Body& body, service::Request& request) {
  PUNA_TRY(const ToolUse use, read_tool_choice(body));
  request.tool_choice = use.choice;
  const Json* tools = body.find("tools");
  const Json none = Json::array();
  for (const Json& tool : (tools ? *tools : none).items()) PUNA_TRY(check_tool(tool));
  PUNA_TRY(check_names(use.choice, tools ? *tools : none));
  if (tools && use.may_call && !tools->items().empty()) request.tools = *tools;
  return {};
}

Result<void> read_thinking(const Body& body, service::Request& request) {
  PUNA_TRY(read_variables(body, request));
  if (const auto effort = body.text("reasoning_effort")) {
    PUNA_TRY(request.think, read_effort("reasoning_effort", *effort));
  }
  if (const auto format = body.text("reasoning_format"))
    request.thinking = *thinking_format(*format);
  for (const char* name : {"thinking_budget_tokens", "reasoning_budget_tokens"}) {
    const auto most = body.integer(name);
    if (most) request.max_thinking = number_or_none(*most);
  }
  if (auto message = body.text("reasoning_budget_message"))
    request.thinking_message = *std::move(message);
  return {};
}

Result<void> read_logprobs(const Body& body, Chat& out) {
  const auto top = body.integer("top_logprobs");
  if (body.flag("logprobs").value_or(false)) {
    out.form.top_logprobs = static_cast<uint32_t>(top.value_or(0));
    // The token itself comes with the first that are asked for.
    out.answer.request.sampling.n_probs = std::max(1u, *out.form.top_logprobs);
  } else if (top.value_or(0) > 0) {
    return base::fail(ErrorCode::kInvalidArgument,
                      "The field \"top_logprobs\" is given, but \"logprobs\" is not true.");
  } else if (const uint32_t n = out.answer.request.sampling.n_probs; n > 0) {
    out.form.top_logprobs = n;
  }
  return {};
}

}  // namespace

std::span<const Field> stream_option_fields() { return kStreamOptions; }
std::span<const Field> chat_fields() { return kChatRequestFields; }

TemplateNames template_names(const service::LoadedModel& model) {
  TemplateNames out;
  if (!model.chat_template) return out;
  const std::string_view source = model.chat_template->source();
  if (source.empty()) return out;
  out.reasoning = chat::reply_style(source).reasoning_member;
  if (source.find("developer") != std::string_view::npos) out.developer = "developer";
  return out;
}

Result<void> read_variables(const Body& body, service::Request& request) {
  const Json* variables = body.find("chat_template_kwargs");
  if (!variables) return {};
  if (const size_t n = variables->members().size(); n > kMostVariables) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The field \"chat_template_kwargs\" has {} members, but at most "
                                  "{} are possible.",
                                  n, kMostVariables));
  }
  for (const auto& [name, value] : variables->members()) {
    if (name != "enable_thinking") {
      request.variables.set(name, value);
    } else if (value.is_bool()) {
      request.think = value.boolean() ? Think::kOn : Think::kOff;
    } else {
      return refuse_field("chat_template_kwargs.enable_thinking", value, "true or false");
    }
  }
  return {};
}

std::optional<service::Thinking> thinking_format(std::string_view name) {
  using service::Thinking;
  constexpr std::pair<std::string_view, Thinking> kFormats[] = {
      {"auto", Thinking::kApart},
      {"none", Thinking::kInContent},
      {"deepseek", Thinking::kApart},
      {"deepseek-legacy", Thinking::kBoth}};
  for (const auto& [each, thinking] : kFormats) {
    if (each == name) return thinking;
  }
  return {};
}

Result<Think> read_effort(std::string_view field, const std::string& effort) {
  constexpr std::pair<std::string_view, Think> kThinks[] = {
      {"none", Think::kOff},      {"minimal", Think::kLow}, {"low", Think::kLow},
      {"medium", Think::kMedium}, {"high", Think::kHigh},   {"xhigh", Think::kHigh},
      {"max", Think::kHigh}};
  for (const auto& [name, think] : kThinks) {
    if (effort == name) return think;
  }
  return refuse_field(field, effort, kEfforts);
}

Result<bool> read_include_usage(const Body& body) {
  const Json* options = body.find("stream_options");
  if (!options) return false;
  PUNA_TRY(const Body inner, Body::read(*options, {kStreamOptions}));
  return inner.flag("include_usage").value_or(false);
}

Result<Chat> read_chat(const Json& json, const service::LoadedModel& model) {
  PUNA_TRY(const Body body, Body::read(json, {kChatRequestFields, tool_choice_fields(),
                                              answer_fields(), sampling_fields()}));
  Chat out;
  PUNA_TRY(out.answer, read_answer_fields(body, model));
  out.form.reports = out.answer.reports;
  service::Request& request = out.answer.request;
  PUNA_TRY(read_messages(body, model, request));
  PUNA_TRY(read_beginning(body, model, request));
  PUNA_TRY(read_tools(body, request));
  PUNA_TRY(read_thinking(body, request));
  out.controlled = body.flag("reasoning_control").value_or(false);
  PUNA_TRY(read_logprobs(body, out));
  out.form.one_call = request.tool_choice.one_call;
  PUNA_TRY(out.include_usage, read_include_usage(body));
  request.stream_arguments = out.answer.stream;
  return out;
}

}  // namespace puna::api::openai
