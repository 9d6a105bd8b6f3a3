// What there is to say of the endpoints of Anthropic's dialect.
#include "api/anthropic/count_tokens.h"
#include "api/anthropic/messages.h"
#include "api/anthropic/request.h"
#include "api/description.h"
#include "api/sampling.h"

namespace puna::api::anthropic {

namespace {

constexpr NamedShape kShapes[] = {
    {"MessageUsage", R"({"input_tokens": "integer", "cache_creation_input_tokens": "integer",
      "cache_read_input_tokens": "integer", "output_tokens": "integer"})"},
    {"MessageBlock", R"([{"type": "=text", "text": "string"},
      {"type": "=thinking", "thinking": "string", "signature": "string"},
      {"type": "=tool_use", "id": "string", "name": "string", "input": "object"}])"},
};

constexpr Description kRows[] = {
    {.endpoint = messages,
     .name = "Message",
     .summary = "Answers a conversation.",
     .body = {message_fields, sampling_fields},
     .answer = R"({"id": "string", "type": "=message", "role": "=assistant", "model": "string",
       "content": ["#MessageBlock"],
       "stop_reason": "=end_turn|max_tokens|stop_sequence|tool_use",
       "stop_sequence": "string|null", "usage": "#MessageUsage"})",
     .frames = Frames::kSse,
     .frame =
         R"([{"type": "=message_start", "message": {"id": "string", "type": "=message",
         "role": "=assistant", "model": "string", "content": ["#MessageBlock"],
         "stop_reason": "null", "stop_sequence": "null", "usage": "#MessageUsage"}},
       {"type": "=content_block_start", "index": "integer", "content_block": "#MessageBlock"},
       {"type": "=content_block_delta", "index": "integer",
         "delta": [{"type": "=text_delta", "text": "string"},
           {"type": "=thinking_delta", "thinking": "string"},
           {"type": "=signature_delta", "signature": "string"},
           {"type": "=input_json_delta", "partial_json": "string"}]},
       {"type": "=content_block_stop", "index": "integer"},
       {"type": "=message_delta", "delta": {
           "stop_reason": "=end_turn|max_tokens|stop_sequence|tool_use",
           "stop_sequence": "string|null"}, "usage": "#MessageUsage"},
       {"type": "=message_stop|ping"},
       {"type": "=error", "error": {"type": "string", "message": "string"}}])"},
    {.endpoint = count_tokens,
     .name = "MessageTokens",
     .summary = "Counts the tokens of a conversation.",
     .body = {counted_fields, message_fields, sampling_fields},
     .answer = R"({"input_tokens": "integer"})"},
};

}  // namespace

Descriptions descriptions() { return {kRows, kShapes}; }

}  // namespace puna::api::anthropic
