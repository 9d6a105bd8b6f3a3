#include "api/openai/request.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "api/fields.h"
#include "api/sampling.h"

namespace puna::api::openai {

using base::ErrorCode;
using base::Json;
using base::Result;
using service::Think;

namespace {

using Kind = Field::Kind;
using Effect = Field::Effect;

constexpr Field refused(std::string_view name, std::string_view why,
                        std::string_view harmless = {}) {
  return {.name = name, .about = why, .effect = Effect::kRefused, .harmless = harmless};
}
constexpr Field passed_over(std::string_view name, std::string_view about) {
  return {.name = name, .about = about, .effect = Effect::kNone};
}

constexpr std::string_view kOneAnswer = "a request gets one answer yet.";
constexpr std::string_view kNoProbabilities = "probabilities are not given out yet.";
constexpr std::string_view kUnbound = "answers cannot be bound to a format, schema or grammar yet.";

// Of chats and completions.
constexpr Field kCommon[] = {
    {"model", Kind::kText, "A name of the model; none: the one that is served."},
    {"stream", Kind::kFlag, "The answer comes in chunks."},
    {"stream_options", Kind::kObject, "{include_usage}: a last chunk has the usage."},
    {"max_tokens", Kind::kInteger, "Tokens at most; -1: as many as the context has room for.", -1,
     UINT32_MAX},
    {"max_completion_tokens", Kind::kInteger, "The same, under its newer name.", -1, UINT32_MAX},
    {"stop", Kind::kTexts, "The answer ends before the first of these."},
    {"ignore_eos", Kind::kFlag, "Goes on where the model would end."},
    refused("n", kOneAnswer, "1"),
    refused("best_of", kOneAnswer, "1"),
    refused("logprobs", kNoProbabilities, "false"),
    refused("top_logprobs", kNoProbabilities),
    refused("grammar", kUnbound, "\"\""),
    refused("json_schema", kUnbound),
    refused("response_format", kUnbound, R"({"type":"text"})"),
    passed_over("user", "Who asks."),
    passed_over("metadata", "What the client remembers of a request."),
    passed_over("store", "Nothing is stored."),
    passed_over("cache_prompt", "What is known of a prompt is never evaluated again."),
};
constexpr Field kChat[] = {
    {"messages", Kind::kList, "The conversation: {role, content, …}."},
    {"tools", Kind::kList, "What the model may call."},
    {"tool_choice", Kind::kAny, "\"auto\" or \"none\"."},
    {"parallel_tool_calls", Kind::kFlag, "Models call as their templates have it."},
    {"reasoning_effort", Kind::kText, "none, minimal, low, medium or high."},
    {"chat_template_kwargs", Kind::kObject, "{enable_thinking}"},
};
constexpr Field kCompletion[] = {
    {"prompt", Kind::kAny, "A text or token ids."},
    {"return_tokens", Kind::kFlag, "Chunks have the ids of their tokens."},
};
constexpr Field kEmbeddings[] = {
    {"input", Kind::kAny, "A text, texts, token ids, or lists of these."},
    {"model", Kind::kText, "A name of the model."},
    refused("encoding_format", "embeddings are given as lists of numbers (\"float\").",
            "\"float\""),
    refused("dimensions", "embeddings have the model's own size."),
    passed_over("user", "Who asks."),
};
constexpr Field kStreamOptions[] = {
    {"include_usage", Kind::kFlag, "A last chunk has the usage."},
};
constexpr Field kTemplateArguments[] = {
    {"enable_thinking", Kind::kFlag, "Whether the model thinks before it answers."},
};

std::unexpected<base::Error> cannot(std::string_view field, std::string_view why) {
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The field \"{}\" is not supported: {}.", field, why));
}

Result<void> read_common(const Body& body, Completion& out) {
  out.model = body.text("model").value_or("");
  out.stream = body.flag("stream").value_or(false);
  if (const Json* options = body.find("stream_options")) {
    PUNA_TRY(const Body inner, Body::read(*options, {kStreamOptions}));
    out.include_usage = inner.flag("include_usage").value_or(false);
  }
  service::Request& request = out.request;
  const auto newer = body.integer("max_completion_tokens");
  const auto max_tokens = newer ? newer : body.integer("max_tokens");
  if (max_tokens && *max_tokens >= 0) request.max_tokens = static_cast<uint32_t>(*max_tokens);
  request.stop = body.texts("stop");
  request.ignore_end = body.flag("ignore_eos").value_or(false);
  PUNA_TRY(request.sampling, read_sampling(body));
  return {};
}

// A content of parts becomes one text; only parts of text are possible.
Result<std::string> text_of_parts(const Json& parts) {
  std::string out;
  for (const Json& part : parts.items()) {
    const Json* type = part.find("type");
    const Json* text = part.find("text");
    if (type == nullptr || *type != Json("text") || text == nullptr || !text->is_string())
      return cannot("messages", "of the parts of a message only texts can be read");
    out += text->string();
  }
  return out;
}

Result<chat::Message> read_message(const Json& json) {
  if (!json.is_object()) return refuse_field("messages", json, "a list of objects");
  chat::Message out;
  PUNA_TRY(out.role, json.get_string("role"));
  for (const auto& [key, value] : json.members()) {
    if (key == "role") continue;
    if (key != "content") {
      out.fields.set(key, value);
    } else if (value.is_string()) {
      out.content = value.string();
    } else if (value.is_array()) {
      PUNA_TRY(out.content, text_of_parts(value));
    } else if (!value.is_null()) {
      return refuse_field("content", value, "a text or a list of parts");
    }
  }
  return out;
}

Result<void> read_messages(const Body& body, service::Request& request) {
  const Json* messages = body.find("messages");
  if (messages == nullptr || messages->items().empty()) {
    return refuse_field("messages", messages == nullptr ? Json() : *messages,
                        "a list of at least one message");
  }
  for (const Json& message : messages->items()) {
    PUNA_TRY_CONTEXT(request.messages.emplace_back(), read_message(message),
                     fmt::format("While reading message {}", request.messages.size() - 1));
  }
  return {};
}

Result<void> read_tools(const Body& body, service::Request& request) {
  const Json* choice = body.find("tool_choice");
  const bool none = choice != nullptr && *choice == Json("none");
  if (choice != nullptr && !none && *choice != Json("auto"))
    return cannot("tool_choice", "a call cannot be forced yet; \"auto\" and \"none\" are possible");
  const Json* tools = body.find("tools");
  if (tools != nullptr && !none) request.tools = *tools;
  return {};
}

Result<void> read_thinking(const Body& body, service::Request& request) {
  if (const Json* arguments = body.find("chat_template_kwargs")) {
    PUNA_TRY(const Body inner, Body::read(*arguments, {kTemplateArguments}));
    const auto on = inner.flag("enable_thinking");
    if (on) request.think = *on ? Think::kOn : Think::kOff;
  }
  const auto effort = body.text("reasoning_effort");
  if (!effort) return {};
  constexpr std::pair<std::string_view, Think> kEfforts[] = {{"none", Think::kOff},
                                                             {"minimal", Think::kLow},
                                                             {"low", Think::kLow},
                                                             {"medium", Think::kMedium},
                                                             {"high", Think::kHigh}};
  for (const auto& [name, think] : kEfforts) {
    if (*effort != name) continue;
    request.think = think;
    return {};
  }
  return refuse_field("reasoning_effort", *effort, "none, minimal, low, medium or high");
}

}  // namespace

Result<Completion> parse_chat(const Json& json) {
  PUNA_TRY(const Body body, Body::read(json, {kCommon, kChat, sampling_fields()}));
  Completion out;
  PUNA_TRY(read_messages(body, out.request));
  PUNA_TRY(read_common(body, out));
  PUNA_TRY(read_tools(body, out.request));
  PUNA_TRY(read_thinking(body, out.request));
  return out;
}

Result<Completion> parse_completion(const Json& json) {
  PUNA_TRY(const Body body, Body::read(json, {kCommon, kCompletion, sampling_fields()}));
  Completion out;
  const Json* prompt = body.find("prompt");
  if (prompt != nullptr && prompt->is_string()) {
    out.request.prompt = prompt->string();
  } else if (prompt != nullptr && prompt->is_array()) {
    PUNA_TRY(out.request.tokens, token_ids("prompt", *prompt));
  } else {
    return refuse_field("prompt", prompt == nullptr ? Json() : *prompt,
                        "a text or a list of token ids");
  }
  out.return_tokens = body.flag("return_tokens").value_or(false);
  PUNA_TRY(read_common(body, out));
  return out;
}

Result<Embeddings> parse_embeddings(const Json& json) {
  PUNA_TRY(const Body body, Body::read(json, {kEmbeddings}));
  Embeddings out;
  out.model = body.text("model").value_or("");
  const Json* input = body.find("input");
  const auto wrong = [&] {
    return refuse_field("input", input == nullptr ? Json() : *input,
                        "a text, texts or token ids, at least one");
  };
  if (input == nullptr) return wrong();
  if (input->is_string()) {
    out.texts = {input->string()};
    return out;
  }
  if (!input->is_array() || input->items().empty()) return wrong();
  const Json& first = input->items().front();
  if (!first.is_string() && !first.is_array()) {
    PUNA_TRY(out.tokens.emplace_back(), token_ids("input", *input));
    return out;
  }
  for (const Json& item : input->items()) {
    if (first.is_string() != item.is_string()) return wrong();
    if (item.is_string()) {
      out.texts.push_back(item.string());
    } else {
      PUNA_TRY(out.tokens.emplace_back(), token_ids("input", item));
    }
  }
  return out;
}

}  // namespace puna::api::openai
