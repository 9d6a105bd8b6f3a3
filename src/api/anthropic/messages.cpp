#include "api/anthropic/messages.h"

#include <fmt/format.h>

#include <random>

#include "api/anthropic/request.h"

namespace puna::api::anthropic {

using base::Json;
using base::Result;
using service::Event;
using service::Reply;

namespace {

std::string random_digits() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}", random(), random(), random());
}

Json usage_json(const engine::GenerateStats& stats) {
  Json out = Json::object();
  out.set("input_tokens", stats.prompt_tokens() - stats.n_cached)
      .set("cache_creation_input_tokens", 0);
  return out.set("cache_read_input_tokens", stats.n_cached).set("output_tokens", stats.n_generated);
}

std::string_view stop_reason(const Reply& reply) {
  using engine::StopReason;
  const StopReason stop = reply.stats.stop;
  // What there is of a cancelled answer has been cut off too.
  const bool cut =
      stop == StopReason::kLength || stop == StopReason::kContext || stop == StopReason::kCancelled;
  if (cut) return "max_tokens";
  if (!reply.parsed.tool_calls.empty()) return "tool_use";
  return reply.stop_text.empty() ? "end_turn" : "stop_sequence";
}

Json set_stop(Json out, const Reply& reply) {
  out.set("stop_reason", stop_reason(reply));
  const bool named = !reply.stop_text.empty() && reply.parsed.tool_calls.empty();
  return out.set("stop_sequence", named ? Json(reply.stop_text) : Json());
}

Json text_block(std::string_view text) {
  return Json::object().set("type", "text").set("text", text);
}
Json thinking_block(std::string_view text) {
  // Nobody needs to be shown later that the thinking is the model's own.
  return Json::object().set("type", "thinking").set("thinking", text).set("signature", "");
}
Json delta(std::string_view type, std::string_view member, std::string_view text) {
  return Json::object().set("type", type).set(std::string(member), text);
}

std::string frame(const Json& event) { return sse(event, event.find("type")->string()); }

class MessagesWriter final : public Writer {
 public:
  explicit MessagesWriter(std::string model) : model_(std::move(model)) {}

  void set_prompt(size_t, const service::Prepared& prepared) override {
    begun_.stats.n_prompt = static_cast<uint32_t>(prepared.prompt.tokens().size());
  }

  std::string begin() override {
    return frame(
        Json::object().set("type", "message_start").set("message", message(begun_, Json::array())));
  }

  std::string next(size_t, const Event& event) override {
    if (event.prompt) {
      begun_.stats.n_cached = event.prompt->n_cached;
      begun_.stats.n_prompt = event.prompt->n_tokens - event.prompt->n_cached;
      return {};
    }
    if (event.text.empty() && event.kind != Event::Kind::kCallBegin &&
        event.kind != Event::Kind::kCallDrop)
      return {};
    switch (event.kind) {
      case Event::Kind::kContent:
        return on(Open::kText, text_block(""), delta("text_delta", "text", event.text));
      case Event::Kind::kReasoning:
        return on(Open::kThinking, thinking_block(""),
                  delta("thinking_delta", "thinking", event.text));
      case Event::Kind::kCallBegin: {
        std::string out = close();
        out += open(Open::kCall, call_block(event.call, event.text, Json::object()));
        return out;
      }
      case Event::Kind::kArguments:
        return piece(delta("input_json_delta", "partial_json", event.text));
      case Event::Kind::kCallDrop:
        // What was sent stays; stop_reason tells that it was no call.
        return close();
      case Event::Kind::kCallId:
        // Clients get ids of our own, which are never missing.
        return {};
    }
    return {};
  }

  std::string end(size_t, const Reply& reply) override {
    Json out = Json::object();
    out.set("type", "message_delta").set("delta", set_stop(Json::object(), reply));
    return close() + frame(out.set("usage", usage_json(reply.stats)));
  }
  std::string finish() override { return frame(Json::object().set("type", "message_stop")); }

  std::string fail(const base::Error& error) override {
    return sse(error_body(Dialect::kAnthropic, error), "error");
  }
  std::string ping() override { return frame(Json::object().set("type", "ping")); }

  HttpReply whole(std::vector<Reply> replies) override {
    const Reply& reply = replies.front();
    Json content = Json::array();
    if (!reply.parsed.reasoning.empty()) content.push(thinking_block(reply.parsed.reasoning));
    if (!reply.text.empty()) content.push(text_block(reply.text));
    for (size_t i = 0; i < reply.parsed.tool_calls.size(); ++i) {
      const chat::ToolCall& call = reply.parsed.tool_calls[i];
      content.push(call_block(i, call.name, Json::parse(call.arguments).value_or(Json::object())));
    }
    return HttpReply::json(set_stop(message(reply, std::move(content)), reply));
  }

 private:
  enum class Open { kNothing, kText, kThinking, kCall };

  Json message(const Reply& reply, Json content) const {
    Json out = Json::object();
    out.set("id", "msg_" + id_).set("type", "message").set("role", "assistant");
    out.set("model", model_).set("content", std::move(content));
    out.set("stop_reason", nullptr).set("stop_sequence", nullptr);
    return out.set("usage", usage_json(reply.stats));
  }
  Json call_block(size_t call, std::string_view name, Json input) const {
    Json out = Json::object();
    out.set("type", "tool_use").set("id", fmt::format("toolu_{}{:04x}", id_, call));
    return out.set("name", name).set("input", std::move(input));
  }

  // A piece of the block that is open if it is of that kind, else of a new one.
  std::string on(Open kind, Json block, Json delta) {
    std::string out;
    if (open_ != kind) {
      out = close();
      out += open(kind, std::move(block));
    }
    return out + piece(std::move(delta));
  }
  std::string open(Open kind, Json block) {
    open_ = kind;
    Json out = Json::object();
    out.set("type", "content_block_start").set("index", index_);
    return frame(out.set("content_block", std::move(block)));
  }
  std::string piece(Json delta) const {
    Json out = Json::object();
    out.set("type", "content_block_delta").set("index", index_);
    return frame(out.set("delta", std::move(delta)));
  }
  std::string close() {
    if (open_ == Open::kNothing) return {};
    std::string out;
    if (open_ == Open::kThinking) out = piece(delta("signature_delta", "signature", ""));
    open_ = Open::kNothing;
    return out + frame(Json::object().set("type", "content_block_stop").set("index", index_++));
  }

  const std::string id_ = random_digits();
  const std::string model_;
  Reply begun_;  // what is known of the prompt when the stream begins
  Open open_ = Open::kNothing;
  uint32_t index_ = 0;  // of the block that is open, or of the next
};

}  // namespace

Result<Exchange> messages(const Call& call) {
  PUNA_TRY(MessageRequest read, read_message_request(call.body, call.model->loaded()));
  Texts out;
  out.stream = read.stream;
  out.writer = std::make_unique<MessagesWriter>(call.model->id);
  out.requests.push_back(std::move(read.request));
  return out;
}

}  // namespace puna::api::anthropic
