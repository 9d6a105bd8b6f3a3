#include "api/openai/request.h"

#include <fmt/format.h>

#include <charconv>
#include <random>

#include "api/openai/fields.h"

namespace puna::api::openai {

using base::ErrorCode;
using base::Json;
using base::Result;
using service::Think;

namespace {

constexpr double kMost = 3e38;  // a float

std::unexpected<base::Error> cannot(std::string_view field, std::string_view why) {
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The field \"{}\" is not supported: {}.", field, why));
}

template <class T, class U>
void take(const std::optional<U>& value, T& to) {
  if (value) to = static_cast<T>(*value);
}

// {"50256": -100, ...}
Result<void> read_logit_bias(Fields& fields, kernels::SamplingParams& sampling) {
  constexpr std::string_view kName = "logit_bias";
  const Json* value = fields.find(kName);
  if (value == nullptr) return {};
  const auto wrong = [&] {
    return refuse_field(kName, *value, "an object of token ids and numbers");
  };
  if (!value->is_object()) return wrong();
  for (const auto& [key, bias] : value->members()) {
    int32_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 || !bias.is_number())
      return wrong();
    sampling.logit_bias.emplace_back(id, static_cast<float>(bias.number()));
  }
  return {};
}

// Ranges that sampling itself checks are left to it.
Result<void> read_sampling(Fields& fields, kernels::SamplingParams& sampling) {
  PUNA_TRY(const auto temperature, fields.number("temperature", -kMost, kMost));
  PUNA_TRY(const auto top_p, fields.number("top_p", -kMost, kMost));
  PUNA_TRY(const auto min_p, fields.number("min_p", -kMost, kMost));
  PUNA_TRY(const auto top_k, fields.integer("top_k", 0, UINT32_MAX));
  PUNA_TRY(const auto presence, fields.number("presence_penalty", -kMost, kMost));
  PUNA_TRY(const auto frequency, fields.number("frequency_penalty", -kMost, kMost));
  PUNA_TRY(const auto repeat, fields.number("repeat_penalty", -kMost, kMost));
  PUNA_TRY(const auto repeat_last, fields.integer("repeat_last_n", 0, UINT32_MAX));
  PUNA_TRY(const auto seed, fields.integer("seed", INT64_MIN, INT64_MAX));
  take(temperature, sampling.temperature);
  take(top_p, sampling.top_p);
  take(min_p, sampling.min_p);
  take(top_k, sampling.top_k);
  take(presence, sampling.presence_penalty);
  take(frequency, sampling.frequency_penalty);
  take(repeat, sampling.repeat_penalty);
  take(repeat_last, sampling.repeat_last);
  sampling.seed = seed ? static_cast<uint64_t>(*seed) : std::random_device()();
  PUNA_TRY(read_logit_bias(fields, sampling));
  return kernels::check(sampling);
}

// What neither a chat nor a completion can have here.
Result<void> refuse_what_is_missing(Fields& fields) {
  PUNA_TRY(const auto n, fields.integer("n", 1, 128));
  if (n.value_or(1) != 1) return cannot("n", "a request gets one answer");
  PUNA_TRY(const auto best_of, fields.integer("best_of", 1, 128));
  if (best_of.value_or(1) != 1) return cannot("best_of", "a request gets one answer");
  if (const Json* logprobs = fields.find("logprobs");
      logprobs != nullptr && *logprobs != Json(false))
    return cannot("logprobs", "probabilities are not given out");
  if (fields.find("top_logprobs") != nullptr)
    return cannot("top_logprobs", "probabilities are not given out");
  if (fields.find("grammar") != nullptr || fields.find("json_schema") != nullptr)
    return cannot("grammar", "answers cannot be bound to a grammar or schema yet");
  if (const Json* format = fields.find("response_format")) {
    const Json* type = format->find("type");
    if (type == nullptr || *type != Json("text"))
      return cannot("response_format", "answers cannot be bound to a format yet");
  }
  return {};
}

Result<void> read_common(Fields& fields, Completion& out) {
  PUNA_TRY(const auto model, fields.text("model"));
  PUNA_TRY(const auto stream, fields.flag("stream"));
  out.model = model.value_or("");
  out.stream = stream.value_or(false);
  if (const Json* options = fields.find("stream_options")) {
    PUNA_TRY(Fields inner, Fields::of(*options));
    PUNA_TRY(const auto usage, inner.flag("include_usage"));
    out.include_usage = usage.value_or(false);
    inner.log_unknown();
  }
  service::Request& request = out.request;
  PUNA_TRY(const auto most, fields.integer("max_tokens", -1, UINT32_MAX));
  PUNA_TRY(const auto newer, fields.integer("max_completion_tokens", -1, UINT32_MAX));
  const auto max_tokens = newer ? newer : most;
  if (max_tokens && *max_tokens >= 0) request.max_tokens = static_cast<uint32_t>(*max_tokens);
  PUNA_TRY(request.stop, fields.texts("stop"));
  PUNA_TRY(const auto ignore_end, fields.flag("ignore_eos"));
  request.ignore_end = ignore_end.value_or(false);
  PUNA_TRY(read_sampling(fields, request.sampling));
  PUNA_TRY(refuse_what_is_missing(fields));
  for (const char* name : {"user", "metadata", "store", "cache_prompt"}) fields.pass_over(name);
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

Result<void> read_messages(Fields& fields, service::Request& request) {
  const Json* messages = fields.find("messages");
  if (messages == nullptr || !messages->is_array() || messages->items().empty()) {
    return refuse_field("messages", messages == nullptr ? Json() : *messages,
                        "a list of at least one message");
  }
  for (const Json& message : messages->items()) {
    PUNA_TRY_CONTEXT(request.messages.emplace_back(), read_message(message),
                     fmt::format("While reading message {}", request.messages.size() - 1));
  }
  return {};
}

Result<void> read_tools(Fields& fields, service::Request& request) {
  const Json* tools = fields.find("tools");
  if (tools != nullptr && !tools->is_array()) return refuse_field("tools", *tools, "a list");
  const Json* choice = fields.find("tool_choice");
  const bool none = choice != nullptr && *choice == Json("none");
  if (choice != nullptr && !none && *choice != Json("auto"))
    return cannot("tool_choice", "a call cannot be forced yet; \"auto\" and \"none\" are possible");
  PUNA_TRY(fields.flag("parallel_tool_calls"));
  if (tools != nullptr && !none) request.tools = *tools;
  return {};
}

Result<void> read_thinking(Fields& fields, service::Request& request) {
  if (const Json* kwargs = fields.find("chat_template_kwargs")) {
    PUNA_TRY(Fields inner, Fields::of(*kwargs));
    PUNA_TRY(const auto on, inner.flag("enable_thinking"));
    if (on) request.think = *on ? Think::kOn : Think::kOff;
    inner.log_unknown();
  }
  PUNA_TRY(const auto effort, fields.text("reasoning_effort"));
  if (!effort) return {};
  if (*effort == "none") {
    request.think = Think::kOff;
  } else if (*effort == "minimal" || *effort == "low") {
    request.think = Think::kLow;
  } else if (*effort == "medium") {
    request.think = Think::kMedium;
  } else if (*effort == "high") {
    request.think = Think::kHigh;
  } else {
    return refuse_field("reasoning_effort", *effort, "none, minimal, low, medium or high");
  }
  return {};
}

}  // namespace

Result<Completion> parse_chat(const Json& body) {
  PUNA_TRY(Fields fields, Fields::of(body));
  Completion out;
  PUNA_TRY(read_messages(fields, out.request));
  PUNA_TRY(read_common(fields, out));
  PUNA_TRY(read_tools(fields, out.request));
  PUNA_TRY(read_thinking(fields, out.request));
  fields.log_unknown();
  return out;
}

Result<Completion> parse_completion(const Json& body) {
  PUNA_TRY(Fields fields, Fields::of(body));
  Completion out;
  const Json* prompt = fields.find("prompt");
  if (prompt != nullptr && prompt->is_string()) {
    out.request.prompt = prompt->string();
  } else if (prompt != nullptr && prompt->is_array()) {
    PUNA_TRY(out.request.tokens, token_ids("prompt", *prompt));
  } else {
    return refuse_field("prompt", prompt == nullptr ? Json() : *prompt,
                        "a text or a list of token ids");
  }
  PUNA_TRY(const auto tokens, fields.flag("return_tokens"));
  out.return_tokens = tokens.value_or(false);
  PUNA_TRY(read_common(fields, out));
  fields.log_unknown();
  return out;
}

Result<Embeddings> parse_embeddings(const Json& body) {
  PUNA_TRY(Fields fields, Fields::of(body));
  Embeddings out;
  PUNA_TRY(const auto model, fields.text("model"));
  out.model = model.value_or("");
  PUNA_TRY(const auto format, fields.text("encoding_format"));
  if (format.value_or("float") != "float")
    return cannot("encoding_format", "embeddings are given as lists of numbers (\"float\")");
  if (fields.find("dimensions") != nullptr)
    return cannot("dimensions", "embeddings have the model's own size");
  const Json* input = fields.find("input");
  if (input == nullptr) return refuse_field("input", Json(), "a text, texts or token ids");
  if (input->is_array() && !input->items().empty() && !input->items()[0].is_string()) {
    if (input->items()[0].is_array()) {
      for (const Json& item : input->items()) {
        PUNA_TRY(out.tokens.emplace_back(), token_ids("input", item));
      }
    } else {
      PUNA_TRY(out.tokens.emplace_back(), token_ids("input", *input));
    }
  } else {
    PUNA_TRY(out.texts, fields.texts("input"));
    if (out.texts.empty()) return refuse_field("input", *input, "at least one text");
  }
  fields.pass_over("user");
  fields.log_unknown();
  return out;
}

}  // namespace puna::api::openai
