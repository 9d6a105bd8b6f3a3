#include "api/openai/chat.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/probabilities.h"
#include "chat/messages.h"
#include "service/prepare.h"

namespace puna::api::openai {

using base::Json;
using base::Result;
using service::Event;
using service::Reply;

namespace {

class ChatWriter final : public ChunkWriter<ChatChunks> {
 public:
  // listed: for as long as its texts are written; may be null.
  ChatWriter(const Head& head, const Chat& chat, const tokenizer::Tokenizer* tokenizer,
             std::unique_ptr<Running::Listed> listed)
      : ChunkWriter(head, chat.answer, chat.include_usage, "chat.completion", tokenizer),
        listed_(std::move(listed)) {
    for (size_t i = 0; i < chat.answer.n; ++i) texts_.emplace_back(head, i, chat.form, tokenizer);
  }

  std::string begin() override {
    std::string out;
    for (const ChatChunks& text : texts_) out += sse(text.first());
    return out;
  }
  std::string finish() override {
    listed_.reset();
    return ChunkWriter::finish();
  }

 private:
  std::unique_ptr<Running::Listed> listed_;
};

// Has the thinking of each text ended by whoever knows the id.
std::unique_ptr<Running::Listed> list_running(Running& running, const std::string& id,
                                              std::vector<service::Request>& requests) {
  Running::Controls controls;
  for (service::Request& request : requests) {
    request.thinking_control = std::make_shared<service::ThinkingControl>();
    controls.push_back(request.thinking_control);
  }
  return running.add(id, std::move(controls));
}

}  // namespace

Json ChatChunks::chunk(Json delta, std::optional<std::string_view> finish) {
  Json choice = Json::object();
  choice.set("index", static_cast<uint64_t>(index_)).set("delta", std::move(delta));
  if (form_.top_logprobs) {
    const bool news = !probabilities_.is_null();
    choice.set("logprobs",
               news ? Json::object().set("content", std::exchange(probabilities_, {})) : Json());
  }
  choice.set("finish_reason", finish ? Json(*finish) : Json());
  Json out = head_.around("chat.completion.chunk", Json::array().push(std::move(choice)));
  if (form_.reports.timings) out.set("timings", timings_json(stats_.stats()));
  return out;
}

Json ChatChunks::first() const {
  Json choice = Json::object();
  choice.set("index", static_cast<uint64_t>(index_))
      .set("delta", Json::object().set("role", "assistant").set("content", nullptr))
      .set("finish_reason", nullptr);
  return head_.around("chat.completion.chunk", Json::array().push(std::move(choice)));
}

std::optional<Json> ChatChunks::next(const Event& event) {
  using Kind = Event::Kind;
  stats_.note(event);
  if (event.prompt) {
    if (!form_.reports.progress) return {};
    return chunk(Json::object()).set("prompt_progress", progress_json(*event.prompt));
  }
  if (const auto chosen = chosen_of(event); chosen && form_.top_logprobs)
    probabilities_.push(chosen_json(tokenizer_, *chosen, *form_.top_logprobs));
  if (event.kind == Kind::kCallDrop) {
    first_call_ = n_calls_ - std::min(event.call, n_calls_);
    return {};
  }
  if (event.text.empty()) return {};
  const size_t index = first_call_ + event.call;
  const auto call = [&](Json function) -> std::optional<Json> {
    if (form_.one_call && event.call > 0) return {};
    Json one = Json::object();
    one.set("index", static_cast<uint64_t>(index));
    if (event.kind == Kind::kCallBegin) one.set("id", call_id(index)).set("type", "function");
    one.set("function", std::move(function));
    return chunk(Json::object().set("tool_calls", Json::array().push(std::move(one))));
  };
  switch (event.kind) {
    case Kind::kContent:
      return chunk(Json::object().set("content", event.text));
    case Kind::kReasoning:
      return chunk(Json::object().set("reasoning_content", event.text));
    case Kind::kCallBegin:
      n_calls_ = index + 1;
      return call(Json::object().set("name", event.text).set("arguments", ""));
    case Kind::kArguments:
      return call(Json::object().set("arguments", event.text));
    case Kind::kCallId:  // clients get ids of our own, which are never missing
    case Kind::kCallDrop:
      return {};
  }
  return {};
}

std::string ChatChunks::call_id(size_t call) const {
  return chat::short_call_id(fmt::format("{}/{}/{}", head_.id, index_, call));
}

Json ChatChunks::message(const Reply& reply) const {
  Json out = Json::object();
  out.set("role", "assistant").set("content", reply.text);
  if (!reply.parsed.reasoning.empty()) out.set("reasoning_content", reply.parsed.reasoning);
  if (reply.parsed.tool_calls.empty()) return out;
  Json calls = Json::array();
  for (const chat::ToolCall& call : reply.parsed.tool_calls) {
    if (form_.one_call && !calls.items().empty()) break;
    Json function = Json::object();
    function.set("name", call.name).set("arguments", call.arguments);
    Json one = Json::object();
    one.set("id", call_id(calls.items().size())).set("type", "function");
    calls.push(one.set("function", std::move(function)));
  }
  if (reply.text.empty()) out.set("content", nullptr);
  return out.set("tool_calls", std::move(calls));
}

Json ChatChunks::last(const Reply& reply) { return chunk(Json::object(), finish_reason(reply)); }

Json ChatChunks::choice(const Reply& reply) const {
  Json logprobs;
  if (form_.top_logprobs) {
    Json content = Json::array();
    for (const kernels::Chosen& chosen : reply.chosen)
      content.push(chosen_json(tokenizer_, chosen, *form_.top_logprobs));
    logprobs.set("content", std::move(content));
  }
  Json out = Json::object();
  out.set("index", static_cast<uint64_t>(index_)).set("message", message(reply));
  return out.set("logprobs", std::move(logprobs)).set("finish_reason", finish_reason(reply));
}

Result<Exchange> chat_completions(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(Chat chat, read_chat(call.body, model));
  Texts out = texts_of(chat.answer);
  std::vector<service::Request> requests;
  requests.push_back(std::move(chat.answer.request));
  out.requests = repeated(std::move(requests), chat.answer.n);
  const Head head = new_head("chatcmpl", call.model->id);
  std::unique_ptr<Running::Listed> listed;
  if (chat.controlled) listed = list_running(*call.model->running, head.id, out.requests);
  out.writer = std::make_unique<ChatWriter>(head, chat, model.tokenizer.get(), std::move(listed));
  return out;
}

Result<Exchange> chat_input_tokens(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const Chat chat, read_chat(call.body, model));
  PUNA_TRY(const std::vector<int32_t> tokens, service::prompt_tokens(model, chat.answer.request));
  Json out = Json::object();
  out.set("object", "response.input_tokens");
  return HttpReply::json(out.set("input_tokens", tokens.size()));
}

}  // namespace puna::api::openai
