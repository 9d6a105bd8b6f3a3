#include "service/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "chat/nonces.h"
#include "service/request_media.h"
#include "service/thinking_budget.h"

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

// The ids of calls as templates take them that refuse all but nine letters and digits. Clients of
// other dialects, and of other servers before, have longer ones.
void shorten_ids(std::vector<chat::Message>& messages) {
  const auto shorten = [](base::Json& object, const char* member) {
    const base::Json* id = object.find(member);
    if (!id || !id->is_string()) return;
    const std::string& text = id->string();
    const auto fits = [](unsigned char c) { return c < 0x80 && std::isalnum(c) != 0; };
    if (text.size() == 9 && std::ranges::all_of(text, fits)) return;
    object.set(member, chat::short_call_id(text));
  };
  for (chat::Message& message : messages) {
    if (!message.fields.is_object()) continue;
    shorten(message.fields, "tool_call_id");
    const base::Json* calls = message.fields.find("tool_calls");
    if (!calls || !calls->is_array()) continue;
    base::Json out = base::Json::array();
    for (const base::Json& each : calls->items()) {
      base::Json call = each;
      if (call.is_object()) shorten(call, "id");
      out.push(std::move(call));
    }
    message.fields.set("tool_calls", std::move(out));
  }
}

// Puts before a conversation what the model's defaults have there.
void add_defaults(const Defaults& defaults, std::vector<chat::Message>& messages) {
  const bool has_system = !messages.empty() && (messages.front().role == "system" ||
                                                messages.front().role == "developer");
  messages.insert(messages.begin() + (has_system ? 1 : 0), defaults.messages.begin(),
                  defaults.messages.end());
  if (!has_system && !defaults.system.empty())
    messages.insert(messages.begin(), {.role = "system", .content = defaults.system});
}

Result<std::string> render(const LoadedModel& model, std::vector<chat::Message> messages,
                           bool to_be_answered, const Request& request) {
  add_defaults(model.defaults, messages);
  if (!request.keep_nonces) chat::make_nonces_equal(messages);
  PUNA_TRY(const chat::Template* chat_template, template_of(model));
  if (chat::reply_style(chat_template->source()).short_ids) shorten_ids(messages);
  const tokenizer::Vocabulary& vocabulary = model.tokenizer->vocabulary();
  const auto text_of = [&](std::optional<int32_t> id) {
    return id ? model.tokenizer->bytes(*id, /*special=*/true) : std::string();
  };
  base::Json extra = base::Json::object();
  extra.set("bos_token", text_of(vocabulary.bos)).set("eos_token", text_of(vocabulary.eos));
  if (!request.tools.is_null()) extra.set("tools", request.tools);
  set_thinking(extra, request.think);
  if (request.variables.is_object()) {
    for (const auto& [name, value] : request.variables.members()) extra.set(name, value);
  }
  auto text = chat::render_chat(*chat_template, with_objects(messages), to_be_answered, extra);
  // A few templates join the text of the arguments instead.
  if (!text) text = chat::render_chat(*chat_template, messages, to_be_answered, extra);
  return text;
}

// A prompt, and whether the answer goes on with thinking.
struct Rendered {
  std::string text;
  bool thinking_open = false;
};

// Stands where the last message is to be continued; characters of the private use areas, which
// templates leave alone.
constexpr std::string_view kEndMark = "\uE0F1\uF8F2\uE0F3";

// Puts the mark behind the text of a message, or its thinking where it has nothing else; none: it
// has neither.
enum class Marked { kNothing, kText, kThinking };
Marked mark_end(chat::Message& message, std::string_view reasoning_member) {
  if (!message.content.empty()) {
    message.content += kEndMark;
    return Marked::kText;
  }
  const base::Json* reasoning = message.fields.find(reasoning_member);
  if (!reasoning || !reasoning->is_string() || reasoning->string().empty()) return Marked::kNothing;
  message.fields.set(std::string(reasoning_member), reasoning->string() + std::string(kEndMark));
  return Marked::kThinking;
}

// A prompt that ends inside the last message.
Result<Rendered> render_continued(const LoadedModel& model, const Request& request,
                                  const chat::ReplyStyle& style) {
  std::vector<chat::Message> messages = request.messages;
  if (messages.back().role != "assistant") {
    return base::fail(
        ErrorCode::kInvalidArgument,
        fmt::format("The last message is of \"{}\", but only one of the assistant can "
                    "be continued.",
                    messages.back().role));
  }
  const Marked marked = mark_end(messages.back(), style.reasoning_member);
  if (marked == Marked::kNothing) {
    messages.pop_back();
    PUNA_TRY(std::string text, render(model, messages, /*to_be_answered=*/true, request));
    const bool open = style.opens_thinking(text);
    return Rendered{std::move(text), open};
  }
  PUNA_TRY(std::string text, render(model, messages, /*to_be_answered=*/false, request));
  const size_t end = text.rfind(kEndMark);
  if (end == std::string::npos) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The chat template of {} leaves the end of the last message out, "
                                  "so it cannot be continued.",
                                  model.name));
  }
  text.resize(end);
  return Rendered{std::move(text), marked == Marked::kThinking};
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
                    fmt::format("The chat template of {} has no switch for {}.", model.name,
                                level ? "how much the model thinks, so that cannot be chosen"
                                      : "thinking, so it can be turned neither on nor off"));
}

// The ids of a rendered prompt. Templates that write BOS themselves must not get a second one, and
// behind what the model is to answer no end token belongs, whatever the vocabulary adds to texts.
std::vector<int32_t> framed(const tokenizer::Tokenizer& tokenizer, const std::string& text) {
  std::vector<int32_t> ids = tokenizer.encode(text, {.add_special = false});
  const tokenizer::Vocabulary& v = tokenizer.vocabulary();
  if (v.add_bos && v.bos && (ids.empty() || ids[0] != *v.bos)) ids.insert(ids.begin(), *v.bos);
  return ids;
}

// `style` (may be null) becomes the model's.
Result<Rendered> render_messages(const LoadedModel& model, const Request& request,
                                 const chat::ReplyStyle** style) {
  PUNA_TRY_CONTEXT(tokenizer_of(model), "While reading the prompt; token ids need no vocabulary");
  PUNA_TRY(const chat::Template* chat_template, template_of(model));
  PUNA_TRY(check_tools(model, request));
  PUNA_TRY(check_switch(model, request.think));
  const chat::ReplyStyle& own = chat::reply_style(chat_template->source());
  if (style) *style = &own;
  if (request.continue_last) return render_continued(model, request, own);
  PUNA_TRY(std::string text, render(model, request.messages, request.begins_answer, request));
  const bool open = own.opens_thinking(text);
  return Rendered{std::move(text), open};
}

// What a request begins with.
struct Beginning {
  engine::Prompt prompt;
  const chat::ReplyStyle* style = nullptr;
  bool thinking_open = false;
};
// Where pictures and sounds stand while a template is rendered: characters of the private use
// areas, which templates leave alone, that stand in no message.
std::string mark_for(std::span<const chat::Message> messages) {
  for (uint32_t n = 0;; ++n) {
    std::string mark = fmt::format("\uE0F4{}\uF8F5", n);
    const auto holds = [&](const chat::Message& message) {
      return message.content.find(mark) != std::string::npos;
    };
    if (std::ranges::none_of(messages, holds)) return mark;
  }
}

// The rendered messages of a request with media, as tokens and spans.
Result<engine::Prompt> with_media(const LoadedModel& model, const Request& request,
                                  Beginning& out) {
  Request marked = request;
  const std::string mark = mark_for(request.messages);
  // From the last on, so that the places before it stay.
  for (auto one = request.media.rbegin(); one != request.media.rend(); ++one)
    marked.messages[one->message].content.insert(one->at, mark);
  PUNA_TRY(const Rendered rendered, render_messages(model, marked, &out.style));
  out.thinking_open = rendered.thinking_open;
  const UnmarkedText text = take_marks(rendered.text, mark);
  if (text.places.size() != request.media.size()) {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The messages have {} pictures or sounds, but the chat template "
                                  "of {} writes {} of them.",
                                  request.media.size(), model.name, text.places.size()));
  }
  std::vector<PlacedMedia> placed = request.media;
  for (size_t i = 0; i < placed.size(); ++i) placed[i].at = text.places[i];
  return media_prompt(*model.tokenizer, text.text, placed, /*ends=*/false);
}

bool is_uncounted(const PlacedMedia& one) { return !one.media; }

Result<Beginning> beginning_of(const LoadedModel& model, const Request& request) {
  Beginning out;
  if (std::ranges::any_of(request.media, is_uncounted)) {
    return base::fail(ErrorCode::kInvalidArgument,
                      "The request has a picture or sound that nothing was made of yet.");
  }
  if (!request.tokens.empty()) {
    if (!request.media.empty()) {
      return base::fail(ErrorCode::kInvalidArgument,
                        "Pictures and sounds stand in texts, but token ids are given.");
    }
    out.prompt = request.tokens;
  } else if (request.messages.empty()) {
    PUNA_TRY_CONTEXT(const tokenizer::Tokenizer* tokenizer, tokenizer_of(model),
                     "While reading the prompt; token ids need no vocabulary");
    if (!request.media.empty()) {
      out.prompt = media_prompt(*tokenizer, request.prompt, request.media, /*ends=*/true);
      return out;
    }
    std::vector<int32_t> tokens = tokenizer->encode(request.prompt);
    // The empty text is continued too, where the model knows how texts begin.
    const std::optional<int32_t> bos = tokenizer->vocabulary().bos;
    if (tokens.empty() && bos) tokens.push_back(*bos);
    out.prompt = std::move(tokens);
  } else if (!request.media.empty()) {
    PUNA_TRY(out.prompt, with_media(model, request, out));
  } else {
    PUNA_TRY(const Rendered rendered, render_messages(model, request, &out.style));
    out.prompt = framed(*model.tokenizer, rendered.text);
    out.thinking_open = rendered.thinking_open;
  }
  return out;
}

bool begins_with_bos(const LoadedModel& model, const std::vector<int32_t>& tokens) {
  if (!model.tokenizer || tokens.empty()) return false;
  const std::optional<int32_t> bos = model.tokenizer->vocabulary().bos;
  return bos && tokens.front() == *bos;
}

// What the calls and the form of the answer bind it to; null: nothing.
Result<std::shared_ptr<engine::TokenFilter>> form_of(const LoadedModel& model, const Request& asked,
                                                     const chat::ReplyStyle* style,
                                                     bool thinking_open) {
  // Thinking that was switched off is no part of a bound answer.
  std::optional<chat::ReplyStyle> silent;
  if (style && asked.think == Think::kOff && !thinking_open) {
    silent = *style;
    silent->thinking = {};
    style = &*silent;
  }
  const bool offers = style && asked.tools.is_array() && !asked.tools.items().empty();
  if (asked.tool_choice.required && !offers) {
    return base::fail(ErrorCode::kInvalidArgument,
                      "A call is required, but there are no tools that could be called.");
  }
  if (asked.tool_choice.required && !style->frame) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("It is not known how {} writes calls, so none can be required.", model.name));
  }
  const bool calls = offers && style->frame;
  const bool needed = asked.form || asked.tool_choice.required;
  if (!calls && !asked.form) return nullptr;
  PUNA_TRY_CONTEXT(const tokenizer::Tokenizer* tokenizer, tokenizer_of(model),
                   "While binding the answer");
  // Where texts cannot be bound, what a model calls is for its parser to judge.
  if (!needed && tokenizer->decodes_in_context()) return nullptr;
  if (!calls) return model.forms->filter(*asked.form, style, thinking_open);
  if (asked.form && !asked.form->triggers.empty()) {
    return base::fail(ErrorCode::kUnsupported,
                      "A grammar that waits for triggers cannot be kept to beside tools, whose "
                      "calls are bound to their schemas already; leave one of them out.");
  }
  return model.forms->filter({.style = *style,
                              .tools = asked.tools,
                              .choice = asked.tool_choice,
                              .form = asked.form,
                              .thinking_open = thinking_open});
}

}  // namespace

Result<Prepared> prepare(const LoadedModel& model, Request request) {
  Prepared out;
  out.request = std::move(request);
  Request& asked = out.request;
  PUNA_TRY(model.engine->check_sampling(asked.sampling));
  PUNA_TRY(Beginning beginning, beginning_of(model, asked));
  out.prompt = std::move(beginning.prompt);
  out.style = beginning.style;
  out.thinking_open = beginning.thinking_open;
  PUNA_TRY(out.filter, form_of(model, asked, out.style, out.thinking_open));
  const bool thinks = out.style && !out.style->thinking.empty();
  // What there can be no room for bounds nothing.
  const uint32_t context = asked.shift ? UINT32_MAX : model.engine->context();
  const uint32_t room = std::min(asked.max_tokens.value_or(UINT32_MAX), context);
  if (thinks && (asked.thinking_control || asked.max_thinking.value_or(room) < room)) {
    const ThinkingBudget::Options budget{.n_tokens = asked.max_thinking.value_or(UINT32_MAX),
                                         .message = asked.thinking_message,
                                         .open = out.thinking_open,
                                         .control = asked.thinking_control};
    PUNA_TRY(out.filter,
             ThinkingBudget::create(*model.tokenizer, *out.style, budget, std::move(out.filter)));
  }
  const uint32_t keep = asked.shift ? asked.shift->n_keep.value_or(0) : 0;
  if (keep > 0 && keep < UINT32_MAX && begins_with_bos(model, out.prompt.tokens()))
    asked.shift->n_keep = keep + 1;
  asked.messages.clear();
  asked.prompt.clear();
  asked.tokens.clear();
  asked.media.clear();
  PUNA_TRY(model.engine->check_prompt(out.prompt));
  return out;
}

Result<std::vector<int32_t>> prompt_tokens(const LoadedModel& model, const Request& request) {
  if (std::ranges::any_of(request.media, is_uncounted)) {
    Request counted = request;
    PUNA_TRY(count_media(model, std::span(&counted, 1)));
    return prompt_tokens(model, counted);
  }
  PUNA_TRY(Beginning beginning, beginning_of(model, request));
  return beginning.prompt.tokens();
}

Result<std::string> render_prompt(const LoadedModel& model, const Request& request) {
  PUNA_TRY(Rendered rendered, render_messages(model, request, nullptr));
  return std::move(rendered.text);
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
