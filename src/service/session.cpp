#include "service/session.h"

#include <fmt/format.h>

#include "chat/parsers.h"

namespace puna::service {

using base::ErrorCode;
using base::Result;
using base::Task;

namespace {

struct Prompt {
  std::vector<int32_t> tokens;
  const chat::ReplyStyle* style = nullptr;  // how the answer is to be read; null: as it is
  bool thinking_open = false;
};

// What templates read: no family reads all of it.
void set_thinking(base::Json& variables, Think think) {
  if (think == Think::kDefault) return;
  const bool on = think != Think::kOff;
  variables.set("enable_thinking", on).set("thinking", on);
  if (think == Think::kLow) variables.set("reasoning_effort", "low");
  if (think == Think::kMedium) variables.set("reasoning_effort", "medium");
  if (think == Think::kHigh) variables.set("reasoning_effort", "high");
}

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

Result<std::string> render(const LoadedModel& model, const Request& request, Think think) {
  const tokenizer::Vocabulary& vocabulary = model.tokenizer->vocabulary();
  const auto text_of = [&](std::optional<int32_t> id) {
    return id ? model.tokenizer->bytes(*id, /*special=*/true) : std::string();
  };
  base::Json extra = base::Json::object();
  extra.set("bos_token", text_of(vocabulary.bos)).set("eos_token", text_of(vocabulary.eos));
  if (!request.tools.is_null()) extra.set("tools", request.tools);
  set_thinking(extra, think);
  auto text = chat::render_chat(*model.chat_template, with_objects(request.messages), true, extra);
  // A few templates join the text of the arguments instead.
  if (!text) text = chat::render_chat(*model.chat_template, request.messages, true, extra);
  return text;
}

// Tools that the template does not show to the model cannot be called.
Result<void> check_tools(const LoadedModel& model, const Request& request,
                         const std::string& text) {
  if (request.tools.is_null()) return {};
  if (!request.tools.is_array()) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The tools are of type {}, but a list is expected.",
                                  request.tools.type_name()));
  }
  if (request.tools.items().empty()) return {};
  Request without = request;
  without.tools = {};
  PUNA_TRY(const std::string otherwise, render(model, without, request.think));
  if (otherwise != text) return {};
  return base::fail(
      ErrorCode::kUnsupported,
      fmt::format("The chat template of {} shows the model no tools; leave them out.", model.name));
}

// A switch that changes nothing in the prompt is none.
Result<void> check_switch(const LoadedModel& model, const Request& request,
                          const std::string& text) {
  if (request.think == Think::kDefault) return {};
  const bool level = request.think > Think::kOn;
  const Think other = level ? request.think == Think::kLow ? Think::kHigh : Think::kLow
                      : request.think == Think::kOff ? Think::kOn
                                                     : Think::kOff;
  PUNA_TRY(const std::string otherwise, render(model, request, other));
  if (otherwise != text) return {};
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

Result<Prompt> prompt_of(const LoadedModel& model, const Request& request) {
  if (!request.tokens.empty()) return Prompt{.tokens = request.tokens};
  PUNA_TRY_CONTEXT(tokenizer_of(model), "While reading the prompt; token ids need no vocabulary");
  if (request.messages.empty()) return Prompt{.tokens = model.tokenizer->encode(request.prompt)};
  PUNA_TRY(const chat::Template* chat_template, template_of(model));
  PUNA_TRY(const std::string text, render(model, request, request.think));
  PUNA_TRY(check_switch(model, request, text));
  PUNA_TRY(check_tools(model, request, text));
  Prompt out{.tokens = framed(*model.tokenizer, text),
             .style = &chat::reply_style(chat_template->source())};
  out.thinking_open = out.style->opens_thinking(text);
  return out;
}

// Turns ids into events: text up to the first stop string, and what it means.
class Listener {
 public:
  Listener(const LoadedModel& model, const Request& request, const Prompt& prompt, OnEvent on_event)
      : tokenizer_(model.tokenizer.get()),
        style_(prompt.style),
        filter_(request.stop),
        on_event_(std::move(on_event)) {
    if (tokenizer_) decoder_.emplace(*tokenizer_);
    if (style_) {
      parser_ = style_->make_parser({.tools = request.tools,
                                     .thinking_open = prompt.thinking_open,
                                     .stream_arguments = false});
    }
  }

  // False when a stop string has been completed.
  bool hear(int32_t token, Reply& reply) {
    reply.tokens.push_back(token);
    show(token, filter_.push(text_of(token)), reply);
    return !filter_.stopped();
  }

  void finish(Reply& reply) {
    if (!filter_.stopped()) {
      std::string rest = filter_.push(decoder_ ? decoder_->finish() : std::string());
      if (!filter_.stopped()) rest += filter_.finish();
      if (!rest.empty()) show(-1, rest, reply);
    }
    if (!parser_) return;
    emit(-1, parser_->finish());
    reply.parsed = parser_->reply();
    reply.text = reply.parsed.content;
  }

 private:
  std::string text_of(int32_t token) {
    if (!decoder_) return {};
    std::string text = decoder_->push(token);
    if (!style_ || !tokenizer_->bytes(token).empty()) return text;
    const std::string mark = tokenizer_->bytes(token, /*special=*/true);
    return style_->reads_token(mark) ? text + mark : text;
  }

  void show(int32_t token, const std::string& text, Reply& reply) {
    if (parser_) return emit(token, parser_->feed(text));
    reply.text += text;
    if (on_event_) on_event_({token, text});
  }

  void emit(int32_t token, const std::vector<chat::ReplyEvent>& events) {
    if (!on_event_) return;
    if (events.empty() && token >= 0) on_event_({token, {}});
    for (const chat::ReplyEvent& event : events)
      on_event_({token, event.text, event.kind, event.call});
  }

  const tokenizer::Tokenizer* tokenizer_;
  const chat::ReplyStyle* style_;
  std::optional<tokenizer::StreamDecoder> decoder_;
  StopFilter filter_;
  std::unique_ptr<chat::ReplyParser> parser_;
  OnEvent on_event_;
};

}  // namespace

Task<Result<Reply>> respond(LoadedModel& model, const Request& request, OnEvent on_event) {
  PUNA_CO_TRY(Prompt prompt, prompt_of(model, request));
  engine::GenerateOptions options;
  options.sampling = request.sampling;
  options.max_tokens = request.max_tokens;
  options.ignore_end = request.ignore_end;
  options.cancel = request.cancel;
  options.hold = request.hold;

  Reply reply;
  Listener listener(model, request, prompt, std::move(on_event));
  std::vector<int32_t> end_tokens;
  if (model.tokenizer) end_tokens = model.tokenizer->vocabulary().end_tokens;
  PUNA_CO_TRY(reply.stats, co_await model.scheduler->generate(
                               std::move(prompt.tokens), std::move(options), std::move(end_tokens),
                               [&](int32_t token) { return listener.hear(token, reply); }));
  listener.finish(reply);
  co_return reply;
}

Result<std::vector<int32_t>> prompt_tokens(const LoadedModel& model, const Request& request) {
  PUNA_TRY(Prompt prompt, prompt_of(model, request));
  return std::move(prompt.tokens);
}

Result<Reply> run(LoadedModel& model, const Request& request, const OnEvent& on_event) {
  return base::run_until(respond(model, request, on_event), [&] { model.engine->poll(); });
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
