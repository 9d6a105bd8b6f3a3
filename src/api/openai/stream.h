// What a request brings, as chunks of OpenAI's chat completions ("chat.completion.chunk") and text
// completions ("text_completion"). Source: OpenAI API reference, "Streaming"; timings as
// llama.cpp's server gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "service/request.h"

namespace puna::api::openai {

struct ChunkHead {
  std::string id;       // of the completion, the same in all chunks
  std::string model;    // as answers call it
  int64_t created = 0;  // seconds since 1970
};

class ChatStream {
 public:
  explicit ChatStream(ChunkHead head) : head_(std::move(head)) {}

  // delta {role: "assistant", content: null}
  base::Json first() const;
  // delta {content}, {reasoning_content} or {tool_calls}; nothing for an event without news.
  std::optional<base::Json> next(const service::Event& event);
  // An empty delta with finish_reason and timings, and usage too.
  base::Json last(const service::Reply& reply, bool usage = true) const;
  // In place of chunks: {role, content, reasoning_content, tool_calls}.
  base::Json message(const service::Reply& reply) const;

 private:
  base::Json chunk(base::Json delta) const;
  std::string call_id(size_t call) const;

  ChunkHead head_;
};

class TextStream {
 public:
  // `tokens`: each chunk also has its token ids.
  TextStream(ChunkHead head, bool tokens) : head_(std::move(head)), tokens_(tokens) {}

  std::optional<base::Json> next(const service::Event& event) const;
  base::Json last(const service::Reply& reply, bool usage = true) const;

 private:
  base::Json chunk(std::string_view text) const;

  ChunkHead head_;
  bool tokens_;
};

// {prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details}
base::Json usage_json(const engine::GenerateStats& stats);
// {cache_n, prompt_n, prompt_ms, prompt_per_second, predicted_n, predicted_ms,
//  predicted_per_second}. The first token counts to the prompt.
base::Json timings_json(const engine::GenerateStats& stats);
// "stop", "length", "tool_calls" or "cancelled".
std::string_view finish_reason(const service::Reply& reply);

}  // namespace puna::api::openai
