// POST /v1/chat/completions. Source: OpenAI API reference, "Chat"; llama.cpp's server for what it
// adds. chat_request.h reads the conversation.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/openai/chat_request.h"
#include "api/openai/common.h"

namespace puna::api::openai {

// One answer of a chat, as chunks and as a whole. Arguments of calls come piece by piece where the
// request says so. A call that turns out malformed behind its beginning cannot be taken back: it
// stays unfinished, what the model wrote follows as content, and no call finishes the answer by
// itself ("stop" or "length", not "tool_calls"); calls that begin after it count on.
class ChatChunks {
 public:
  // tokenizer: for the texts of tokens that have probabilities; may be null.
  ChatChunks(Head head, size_t index, const ChatForm& form, const tokenizer::Tokenizer* tokenizer)
      : head_(std::move(head)), index_(index), form_(form), tokenizer_(tokenizer) {}

  // delta {role: "assistant", content: null}
  base::Json first() const;
  // delta {content}, {reasoning_content} or {tool_calls}; {} beside prompt_progress; nothing for an
  // event without news.
  std::optional<base::Json> next(const service::Event& event);
  // An empty delta with finish_reason.
  base::Json last(const service::Reply& reply);
  // In place of chunks: {index, message, logprobs, finish_reason}.
  base::Json choice(const service::Reply& reply) const;

 private:
  base::Json chunk(base::Json delta, std::optional<std::string_view> finish = {});
  base::Json message(const service::Reply& reply) const;
  std::string call_id(size_t call) const;

  Head head_;
  size_t index_;
  ChatForm form_;
  const tokenizer::Tokenizer* tokenizer_;
  size_t n_calls_ = 0;     // that the client knows of
  size_t first_call_ = 0;  // what the client calls the parser's call 0
  RunningStats stats_;
  base::Json probabilities_;  // of tokens that no chunk has told of yet: a list, or null
};

// Errors: those of read_chat().
base::Result<Exchange> chat_completions(const Call& call);

// POST /v1/chat/completions/input_tokens: {object, input_tokens}, of the same body.
base::Result<Exchange> chat_input_tokens(const Call& call);

}  // namespace puna::api::openai
