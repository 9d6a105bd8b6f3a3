#include "service/prepare.h"

#include <fmt/format.h>

#include "service/banned_strings.h"

namespace puna::service {

using base::ErrorCode;
using base::Result;

namespace {

// The calls of earlier messages with their arguments as objects, which is what most templates write
// out; the OpenAI interface has them as text.
std::vector<chat::Message> with_objects(std::vector<chat::Message> messages) {
  for (chat::Message& message : messages) {
    const base::Json* calls = message.fields.find("tool_calls");
    if (!calls || !calls->is_array()) continue;
    base::Json out = base::Json::array();
    for (const base::Json& each : calls->items()) {
      base::Json call = each;
      const base::Json* function = each.find("function");
      const base::Json* arguments = function ? function->find("arguments") : nullptr;
      const auto parsed = arguments && arguments->is_string()
                              ? base::Json::parse(arguments->string())
                              : base::fail(ErrorCode::kInvalidArgument, "");
      if (parsed && parsed->is_object()) {
        base::Json changed = *function;
        changed.set("arguments", *parsed);
        call.set("function", std::move(changed));
      }
      out.push(std::move(call));
    }
    message.fields.set("tool_calls", std::move(out));
  }
  return messages;
}

Result<std::string> render(const LoadedModel& model, const Request& request) {
  const tokenizer::Vocabulary& vocabulary = model.tokenizer->vocabulary();
  const auto text_of = [&](std::optional<int32_t> id) {
    return id ? model.tokenizer->bytes(*id, /*special=*/true) : std::string();
  };
  base::Json extra = base::Json::object();
  extra.set("bos_token", text_of(vocabulary.bos)).set("eos_token", text_of(vocabulary.eos));
  if (!request.tools.is_null()) extra.set("tools", request.tools);
  set_thinking(extra, request.think);
  auto text = chat::render_chat(*model.chat_template, with_objects(request.messages), true, extra);
  // A few templates join the text of the arguments instead.
  if (!text) text = chat::render_chat(*model.chat_template, request.messages, true, extra);
  return text;
}

// Tools that the template does not show to the model cannot be called.
Result<void> check_tools(const LoadedModel& model, const Request& request) {
  if (request.tools.is_null()) return {};
  if (!request.tools.is_array()) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The tools are of type {}, but a list is expected.",
                                  request.tools.type_name()));
  }
  if (request.tools.items().empty() || model.abilities.tools) return {};
  return base::fail(
      ErrorCode::kUnsupported,
      fmt::format("The chat template of {} shows the model no tools; leave them out.", model.name));
}

// A switch that changes nothing in the prompt is none.
Result<void> check_switch(const LoadedModel& model, Think think) {
  if (think == Think::kDefault) return {};
  const bool level = think > Think::kOn;
  if (level ? model.abilities.thinking_levels : model.abilities.thinking) return {};
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The chat template of {} has no switch for {}; leave --think out.",
                                model.name, level ? "how much the model thinks" : "thinking"));
}

// The ids of a rendered prompt. Templates that write BOS themselves must not get a second one, and
// behind what the model is to answer no end token belongs, whatever the vocabulary adds to texts.
std::vector<int32_t> framed(const tokenizer::Tokenizer& tokenizer, const std::string& text) {
  std::vector<int32_t> ids = tokenizer.encode(text, {.add_special = false});
  const tokenizer::Vocabulary& v = tokenizer.vocabulary();
  if (v.add_bos && v.bos && (ids.empty() || ids[0] != *v.bos)) ids.insert(ids.begin(), *v.bos);
  return ids;
}

}  // namespace

Result<Prepared> prepare(const LoadedModel& model, Request request) {
  Prepared out;
  out.request = std::move(request);
  Request& asked = out.request;
  if (!asked.banned.empty()) {
    PUNA_TRY(const tokenizer::Tokenizer* tokenizer, tokenizer_of(model));
    PUNA_TRY(out.filter, BannedStrings::create(*tokenizer, model.engine->config().vocab,
                                               std::exchange(asked.banned, {})));
  }
  if (!asked.tokens.empty()) {
    out.tokens = std::exchange(asked.tokens, {});
    return out;
  }
  PUNA_TRY_CONTEXT(tokenizer_of(model), "While reading the prompt; token ids need no vocabulary");
  if (asked.messages.empty()) {
    out.tokens = model.tokenizer->encode(asked.prompt);
    asked.prompt.clear();
    return out;
  }
  PUNA_TRY(const chat::Template* chat_template, template_of(model));
  PUNA_TRY(check_tools(model, asked));
  PUNA_TRY(check_switch(model, asked.think));
  PUNA_TRY(const std::string text, render(model, asked));
  out.tokens = framed(*model.tokenizer, text);
  out.style = &chat::reply_style(chat_template->source());
  out.thinking_open = out.style->opens_thinking(text);
  asked.messages.clear();
  return out;
}

chat::Message assistant_message(const LoadedModel& model, const Reply& reply) {
  chat::Message out{.role = "assistant", .content = reply.text};
  if (!reply.parsed.tool_calls.empty()) {
    base::Json calls = base::Json::array();
    for (const chat::ToolCall& call : reply.parsed.tool_calls) {
      base::Json function = base::Json::object(), one = base::Json::object();
      function.set("name", call.name).set("arguments", call.arguments);
      if (!call.id.empty()) one.set("id", call.id);
      calls.push(std::move(one.set("type", "function").set("function", std::move(function))));
    }
    out.fields.set("tool_calls", std::move(calls));
  }
  if (reply.parsed.reasoning.empty() || !model.chat_template) return out;
  const chat::ReplyStyle& style = chat::reply_style(model.chat_template->source());
  out.fields.set(std::string(style.reasoning_member), reply.parsed.reasoning);
  return out;
}

}  // namespace puna::service
