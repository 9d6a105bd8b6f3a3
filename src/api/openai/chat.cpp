#include "api/openai/chat.h"

#include <fmt/format.h>

#include <ctime>
#include <random>

#include "api/openai/request.h"
#include "api/openai/stream.h"

namespace puna::api::openai {

using base::Json;
using base::Result;
using service::Reply;

namespace {

std::string random_id(std::string_view prefix) {
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}{:08x}", prefix, random(), random(), random());
}

ChunkHead head_of(const Call& call, std::string_view prefix) {
  return {random_id(prefix), call.model->id, static_cast<int64_t>(std::time(nullptr))};
}

// Of both kinds: the chunks, at last one with the usage where it is asked for, and [DONE].
template <class Stream>
class CompletionWriter : public Writer {
 public:
  CompletionWriter(Stream stream, ChunkHead head, bool include_usage)
      : stream_(std::move(stream)), head_(std::move(head)), include_usage_(include_usage) {}

  std::string next(size_t, const service::Event& event) override {
    const auto chunk = stream_.next(event);
    return chunk ? sse(*chunk) : std::string();
  }
  std::string end(size_t, const Reply& reply) override {
    const Json last = stream_.last(reply, /*usage=*/false);
    std::string out = sse(last);
    if (!include_usage_) return out;
    Json usage = Json::object();
    usage.set("id", head_.id).set("object", *last.find("object")).set("created", head_.created);
    usage.set("model", head_.model).set("choices", Json::array());
    return out + sse(usage.set("usage", usage_json(reply.stats)));
  }
  std::string finish() override { return "data: [DONE]\n\n"; }
  std::string fail(const base::Error& error) override {
    return sse(error_body(Dialect::kOpenAi, error));
  }

 protected:
  // An answer as a whole around its one choice.
  HttpReply answer(std::string_view object, Json choice, const Reply& reply) const {
    choice.set("index", 0).set("logprobs", nullptr).set("finish_reason", finish_reason(reply));
    Json out = Json::object();
    out.set("id", head_.id).set("object", object).set("created", head_.created);
    out.set("model", head_.model).set("choices", Json::array().push(std::move(choice)));
    out.set("usage", usage_json(reply.stats)).set("timings", timings_json(reply.stats));
    return HttpReply::json(out);
  }

  Stream stream_;

 private:
  ChunkHead head_;
  bool include_usage_;
};

class ChatWriter final : public CompletionWriter<ChatStream> {
 public:
  using CompletionWriter::CompletionWriter;

  std::string begin() override { return sse(stream_.first()); }
  HttpReply whole(std::vector<Reply> replies) override {
    const Reply& reply = replies.front();
    return answer("chat.completion", Json::object().set("message", stream_.message(reply)), reply);
  }
};

class TextWriter final : public CompletionWriter<TextStream> {
 public:
  using CompletionWriter::CompletionWriter;

  HttpReply whole(std::vector<Reply> replies) override {
    const Reply& reply = replies.front();
    return answer("text_completion", Json::object().set("text", reply.text), reply);
  }
};

Exchange texts_of(Completion completion, std::unique_ptr<Writer> writer) {
  Texts out;
  out.stream = completion.stream;
  out.writer = std::move(writer);
  out.requests.push_back(std::move(completion.request));
  return out;
}

}  // namespace

Result<Exchange> chat_completions(const Call& call) {
  PUNA_TRY(Completion completion, parse_chat(call.body));
  const ChunkHead head = head_of(call, "chatcmpl");
  auto writer = std::make_unique<ChatWriter>(ChatStream(head), head, completion.include_usage);
  return texts_of(std::move(completion), std::move(writer));
}

Result<Exchange> completions(const Call& call) {
  PUNA_TRY(Completion completion, parse_completion(call.body));
  const ChunkHead head = head_of(call, "cmpl");
  auto writer = std::make_unique<TextWriter>(TextStream(head, completion.return_tokens), head,
                                             completion.include_usage);
  return texts_of(std::move(completion), std::move(writer));
}

}  // namespace puna::api::openai
