#include "api/openai/response_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/exchange.h"
#include "api/openai/common.h"
#include "api/probabilities.h"
#include "chat/messages.h"

namespace puna::api::openai {

using base::Json;
using service::Event;
using service::Part;
using service::Reply;

namespace {

std::string id_at(std::string_view prefix, const ItemPlace& place) {
  return fmt::format("{}_{}{:04x}", prefix, place.key, place.index);
}

Json text_part(std::string_view text, Json logprobs) {
  Json out = Json::object();
  out.set("type", "output_text").set("text", text).set("annotations", Json::array());
  return out.set("logprobs", std::move(logprobs));
}
Json reasoning_part(std::string_view text) {
  return Json::object().set("type", "reasoning_text").set("text", text);
}

Json message_with(const ItemPlace& place, std::string_view status, Json content) {
  Json out = Json::object();
  out.set("id", id_at("msg", place)).set("type", "message").set("status", status);
  return out.set("role", "assistant").set("content", std::move(content));
}
Json reasoning_with(const ItemPlace& place, std::string_view status, Json content) {
  Json out = Json::object();
  out.set("id", id_at("rs", place)).set("type", "reasoning").set("status", status);
  return out.set("summary", Json::array()).set("content", std::move(content));
}

}  // namespace

Json text_logprobs(const ResponseForm& form, const tokenizer::Tokenizer* tokenizer,
                   const Reply& reply) {
  Json out = Json::array();
  if (!form.top_logprobs) return out;
  for (size_t i = 0; i < std::min(reply.parts.size(), reply.chosen.size()); ++i) {
    if (reply.parts[i] == Part::kContent)
      out.push(chosen_json(tokenizer, reply.chosen[i], *form.top_logprobs));
  }
  return out;
}

Json message_item(const ItemPlace& place, std::string_view status, std::string_view text,
                  Json logprobs) {
  return message_with(place, status, Json::array().push(text_part(text, std::move(logprobs))));
}
Json reasoning_item(const ItemPlace& place, std::string_view status, std::string_view text) {
  return reasoning_with(place, status, Json::array().push(reasoning_part(text)));
}
Json call_item(const ItemPlace& place, std::string_view status, std::string_view name,
               std::string_view arguments) {
  Json out = Json::object();
  out.set("id", id_at("fc", place)).set("type", "function_call").set("status", status);
  out.set("call_id", "call_" + chat::short_call_id(fmt::format("{}/{}", place.key, place.index)));
  return out.set("name", name).set("arguments", arguments);
}

std::string ItemStream::frame(std::string_view type, const Json& fields) {
  Json out = Json::object();
  out.set("type", type).set("sequence_number", n_events_++);
  for (const auto& [name, value] : fields.members()) out.set(name, value);
  return sse(out, type);
}

void ItemStream::note_probabilities(const Event& event) {
  const auto chosen = chosen_of(event);
  if (!chosen || !form_.top_logprobs) return;
  // Within a call or the thinking, a token that brings nothing is of that (service::Reply::parts).
  if (event.text.empty() && (open_ == Open::kCall || open_ == Open::kReasoning)) return;
  pending_.push(chosen_json(tokenizer_, *chosen, *form_.top_logprobs));
}

std::string ItemStream::next(const Event& event) {
  using Kind = Event::Kind;
  stats_.note(event);
  note_probabilities(event);
  if (event.kind == Kind::kCallDrop) return drop_calls(event.call);
  if (event.text.empty()) return {};
  if (event.kind != Kind::kContent) pending_ = Json::array();
  switch (event.kind) {
    case Kind::kContent:
      return on(Open::kMessage, event);
    case Kind::kReasoning:
      return on(Open::kReasoning, event);
    case Kind::kCallBegin:
      return begin_call(event);
    case Kind::kArguments:
      if (form_.one_call && event.call > 0) return {};
      return piece(event.text);
    case Kind::kCallId:  // clients get ids of our own, which are never missing
    case Kind::kCallDrop:
      return {};
  }
  return {};
}

std::string ItemStream::on(Open kind, const Event& event) {
  std::string out;
  if (open_ != kind) out = open(kind, {});
  return out + piece(event.text);
}

std::string ItemStream::begin_call(const Event& event) {
  if (form_.one_call && event.call > 0) return {};
  std::string out = open(Open::kCall, event.text);
  calls_.resize(event.call);
  calls_.push_back(items_.size());
  return out;
}

std::string ItemStream::drop_calls(size_t call) {
  if (call >= calls_.size()) return {};
  std::string out;
  if (open_ == Open::kCall) out = close("incomplete");
  for (size_t i = call; i < calls_.size(); ++i) items_[calls_[i]].set("status", "incomplete");
  calls_.resize(call);
  return out;
}

std::string ItemStream::open(Open kind, std::string name) {
  std::string out = close("completed");
  open_ = kind;
  name_ = std::move(name);
  text_.clear();
  logprobs_ = Json::array();
  const ItemPlace place{key_, items_.size()};
  const Json item = kind == Open::kMessage     ? message_with(place, "in_progress", Json::array())
                    : kind == Open::kReasoning ? reasoning_with(place, "in_progress", Json::array())
                                               : call_item(place, "in_progress", name_, "");
  out += frame("response.output_item.added",
               Json::object().set("output_index", items_.size()).set("item", item));
  if (kind != Open::kCall)
    out += frame("response.content_part.added", at_part().set("part", part()));
  return out;
}

std::string ItemStream::piece(const std::string& text) {
  text_ += text;
  const auto delta = [&](std::string_view type, Json fields) {
    if (form_.reports.timings) fields.set("timings", timings_json(stats_.stats()));
    return frame(type, fields);
  };
  if (open_ == Open::kCall)
    return delta("response.function_call_arguments.delta", at_item().set("delta", text));
  if (open_ == Open::kReasoning)
    return delta("response.reasoning_text.delta", at_part().set("delta", text));
  const Json news = std::exchange(pending_, Json::array());
  for (const Json& each : news.items()) logprobs_.push(each);
  return delta("response.output_text.delta", at_part().set("delta", text).set("logprobs", news));
}

std::string ItemStream::close(std::string_view status) {
  if (open_ == Open::kNothing) return {};
  std::string out;
  switch (open_) {
    case Open::kMessage:
      out = frame("response.output_text.done",
                  at_part().set("text", text_).set("logprobs", logprobs_));
      break;
    case Open::kReasoning:
      out = frame("response.reasoning_text.done", at_part().set("text", text_));
      break;
    case Open::kCall:
    case Open::kNothing:
      out = frame("response.function_call_arguments.done",
                  at_item().set("name", name_).set("arguments", text_));
  }
  if (open_ != Open::kCall)
    out += frame("response.content_part.done", at_part().set("part", part()));
  Json done = item(status);
  out += frame("response.output_item.done",
               Json::object().set("output_index", items_.size()).set("item", done));
  items_.push_back(std::move(done));
  open_ = Open::kNothing;
  return out;
}

Json ItemStream::item(std::string_view status) const {
  const ItemPlace place{key_, items_.size()};
  if (open_ == Open::kMessage) return message_item(place, status, text_, logprobs_);
  if (open_ == Open::kReasoning) return reasoning_item(place, status, text_);
  return call_item(place, status, name_, text_);
}

Json ItemStream::part() const {
  return open_ == Open::kMessage ? text_part(text_, logprobs_) : reasoning_part(text_);
}

Json ItemStream::at_item() const {
  const std::string_view prefix = open_ == Open::kMessage     ? "msg"
                                  : open_ == Open::kReasoning ? "rs"
                                                              : "fc";
  Json out = Json::object();
  out.set("item_id", id_at(prefix, {key_, items_.size()}));
  return out.set("output_index", items_.size());
}
Json ItemStream::at_part() const { return at_item().set("content_index", 0); }

}  // namespace puna::api::openai
