#include "api/openai/stream.h"

#include <fmt/format.h>

#include <algorithm>

namespace puna::api::openai {

using base::Json;
using service::Event;
using service::Reply;

namespace {

Json base_chunk(const ChunkHead& head, std::string_view object, Json choice) {
  Json out = Json::object();
  out.set("id", head.id).set("object", object).set("created", head.created);
  out.set("model", head.model).set("choices", Json::array().push(std::move(choice)));
  return out;
}

void set_end(Json& chunk, const Reply& reply, Json choice, bool usage) {
  choice.set("finish_reason", finish_reason(reply));
  chunk.set("choices", Json::array().push(std::move(choice)));
  if (usage) chunk.set("usage", usage_json(reply.stats));
  chunk.set("timings", timings_json(reply.stats));
}

}  // namespace

std::string_view finish_reason(const Reply& reply) {
  if (reply.stats.stop == engine::StopReason::kCancelled) return "cancelled";
  if (!reply.parsed.tool_calls.empty()) return "tool_calls";
  const bool cut = reply.stats.stop == engine::StopReason::kLength ||
                   reply.stats.stop == engine::StopReason::kContext;
  return cut ? "length" : "stop";
}

Json usage_json(const engine::GenerateStats& stats) {
  const uint32_t n_prompt = stats.n_prompt + stats.n_cached;
  Json out = Json::object();
  out.set("prompt_tokens", n_prompt).set("completion_tokens", stats.n_generated);
  out.set("total_tokens", n_prompt + stats.n_generated);
  out.set("prompt_tokens_details", Json::object().set("cached_tokens", stats.n_cached));
  return out;
}

Json timings_json(const engine::GenerateStats& stats) {
  const auto per_second = [](uint32_t n, double ms) { return ms > 0 ? n * 1000.0 / ms : 0.0; };
  const uint32_t n_decoded = stats.n_generated > 0 ? stats.n_generated - 1 : 0;
  Json out = Json::object();
  out.set("cache_n", stats.n_cached).set("prompt_n", stats.n_prompt);
  out.set("prompt_ms", stats.prompt_ms);
  out.set("prompt_per_second", per_second(stats.n_prompt, stats.prompt_ms));
  out.set("predicted_n", stats.n_generated).set("predicted_ms", stats.decode_ms);
  out.set("predicted_per_second", per_second(n_decoded, stats.decode_ms));
  return out;
}

Json ChatStream::chunk(Json delta) const {
  Json choice = Json::object();
  choice.set("index", 0).set("delta", std::move(delta)).set("finish_reason", nullptr);
  return base_chunk(head_, "chat.completion.chunk", std::move(choice));
}

Json ChatStream::first() const {
  return chunk(Json::object().set("role", "assistant").set("content", nullptr));
}

std::optional<Json> ChatStream::next(const Event& event) {
  using Kind = Event::Kind;
  if (event.text.empty() && event.kind != Kind::kCallBegin) return std::nullopt;
  const auto call = [&](Json function) {
    Json one = Json::object();
    one.set("index", static_cast<uint64_t>(event.call));
    if (event.kind == Kind::kCallBegin) one.set("id", call_id(event.call)).set("type", "function");
    one.set("function", std::move(function));
    return chunk(Json::object().set("tool_calls", Json::array().push(std::move(one))));
  };
  switch (event.kind) {
    case Kind::kContent:
      return chunk(Json::object().set("content", event.text));
    case Kind::kReasoning:
      return chunk(Json::object().set("reasoning_content", event.text));
    case Kind::kCallBegin:
      return call(Json::object().set("name", event.text).set("arguments", ""));
    case Kind::kArguments:
      return call(Json::object().set("arguments", event.text));
    case Kind::kCallId:    // clients get ids of our own, which are never missing
    case Kind::kCallDrop:  // calls come when they are complete
      return std::nullopt;
  }
  return std::nullopt;
}

std::string ChatStream::call_id(size_t call) const {
  return fmt::format("{}-call-{}", head_.id, call);
}

Json ChatStream::message(const Reply& reply) const {
  Json out = Json::object();
  out.set("role", "assistant").set("content", reply.text);
  if (!reply.parsed.reasoning.empty()) out.set("reasoning_content", reply.parsed.reasoning);
  if (reply.parsed.tool_calls.empty()) return out;
  Json calls = Json::array();
  for (const chat::ToolCall& call : reply.parsed.tool_calls) {
    Json function = Json::object();
    function.set("name", call.name).set("arguments", call.arguments);
    Json one = Json::object();
    one.set("id", call_id(calls.items().size())).set("type", "function");
    calls.push(one.set("function", std::move(function)));
  }
  if (reply.text.empty()) out.set("content", nullptr);
  return out.set("tool_calls", std::move(calls));
}

Json ChatStream::last(const Reply& reply, bool usage) const {
  Json out = chunk(Json::object());
  Json choice = Json::object();
  choice.set("index", 0).set("delta", Json::object());
  set_end(out, reply, std::move(choice), usage);
  return out;
}

Json TextStream::chunk(std::string_view text) const {
  Json choice = Json::object();
  choice.set("index", 0).set("text", text).set("finish_reason", nullptr);
  return base_chunk(head_, "text_completion", std::move(choice));
}

std::optional<Json> TextStream::next(const Event& event) const {
  const bool token = tokens_ && event.token >= 0;
  if (event.text.empty() && !token) return std::nullopt;
  Json out = chunk(event.text);
  if (tokens_) out.set("tokens", token ? Json::array().push(event.token) : Json::array());
  return out;
}

Json TextStream::last(const Reply& reply, bool usage) const {
  Json out = chunk("");
  Json choice = Json::object();
  choice.set("index", 0).set("text", "");
  set_end(out, reply, std::move(choice), usage);
  return out;
}

}  // namespace puna::api::openai
