// What there is to say of the endpoints of OpenAI's dialect.
#include "api/answer_fields.h"
#include "api/description.h"
#include "api/openai/chat.h"
#include "api/openai/chat_request.h"
#include "api/openai/completions.h"
#include "api/openai/embeddings.h"
#include "api/openai/models.h"
#include "api/openai/response_request.h"
#include "api/openai/responses.h"
#include "api/sampling.h"

namespace puna::api::openai {

namespace {

constexpr NamedShape kShapes[] = {
    {"Usage", R"({"prompt_tokens": "integer", "completion_tokens": "integer",
      "total_tokens": "integer", "prompt_tokens_details": {"cached_tokens": "integer"}})"},
    {"Timings", R"({"cache_n": "integer", "prompt_n": "integer", "prompt_ms": "number",
      "prompt_per_token_ms": "number", "prompt_per_second": "number", "predicted_n": "integer",
      "predicted_ms": "number", "predicted_per_token_ms": "number",
      "predicted_per_second": "number"})"},
    {"PromptProgress", R"({"total": "integer", "cache": "integer", "processed": "integer",
      "time_ms": "integer"})"},
    {"Probability",
     R"({"id": "integer", "token": "string", "bytes": ["integer"], "logprob": "number"})"},
    {"TokenProbability",
     R"({"id": "integer", "token": "string", "bytes": ["integer"], "logprob": "number",
      "top_logprobs": ["#Probability"]})"},
    {"TextProbabilities", R"({"tokens": ["string"], "token_logprobs": ["number"],
      "top_logprobs": [{"*": "number"}], "text_offset": ["integer"],
      "content": ["#TokenProbability"]})"},
    {"Model", R"({"id": "string", "object": "=model", "created": "integer", "owned_by": "string",
      "aliases": ["string"], "tags": ["string"],
      "architecture": {"input_modalities": ["string"], "output_modalities": ["string"]},
      "meta": {"vocab_type": "integer", "n_vocab": "integer", "n_ctx": "integer",
        "n_ctx_train": "integer", "n_embd": "integer", "n_params": "integer", "size": "integer",
        "ftype": "string|null"}})"},
};

constexpr Description kRows[] = {
    {.endpoint = models,
     .name = "ModelList",
     .summary = "Lists the models, in OpenAI's form and in that of llama.cpp's server.",
     .answer = R"({"models": [{"name": "string", "model": "string", "details": "object",
       "capabilities": ["string"]}], "object": "=list", "data": ["#Model"]})"},
    {.endpoint = model,
     .name = "OneModel",
     .summary = "Tells of one model.",
     .answer = R"("#Model")"},
    {.endpoint = chat_completions,
     .name = "ChatCompletion",
     .summary = "Answers a conversation.",
     .body = {chat_fields, answer_fields, sampling_fields},
     .answer = R"({"id": "string", "object": "=chat.completion", "created": "integer",
       "model": "string", "system_fingerprint": "string",
       "choices": [{"index": "integer",
         "message": {"role": "=assistant", "content": "string|null", "reasoning_content?": "string",
           "tool_calls?": [{"id": "string", "type": "=function",
             "function": {"name": "string", "arguments": "string"}}]},
         "logprobs": [{"content": ["#TokenProbability"]}, "null"],
         "finish_reason": "=stop|length|tool_calls"}],
       "usage": "#Usage", "timings": "#Timings", "__verbose?": "#WrittenText"})",
     .frames = Frames::kSse,
     .frame = R"({"id": "string", "object": "=chat.completion.chunk", "created": "integer",
       "model": "string", "system_fingerprint": "string",
       "choices": [{"index": "integer",
         "delta": {"role?": "=assistant", "content?": "string|null", "reasoning_content?": "string",
           "tool_calls?": [{"index": "integer", "id?": "string", "type?": "=function",
             "function": {"name?": "string", "arguments?": "string"}}]},
         "logprobs?": [{"content": ["#TokenProbability"]}, "null"],
         "finish_reason": "string|null"}],
       "usage?": "#Usage", "timings?": "#Timings",
       "prompt_progress?": "#PromptProgress", "__verbose?": "#WrittenText"})"},
    {.endpoint = chat_input_tokens,
     .name = "ChatInputTokens",
     .summary = "Counts the tokens of a conversation.",
     .body = {chat_fields, answer_fields, sampling_fields},
     .answer = R"({"object": "=response.input_tokens", "input_tokens": "integer"})"},
    {.endpoint = completions,
     .name = "Completion",
     .summary = "Continues texts.",
     .body = {completion_fields, answer_fields, sampling_fields},
     .answer = R"({"id": "string", "object": "=text_completion", "created": "integer",
       "model": "string", "system_fingerprint": "string",
       "choices": [{"text": "string", "index": "integer", "tokens?": ["integer"],
         "logprobs": ["#TextProbabilities", "null"], "finish_reason": "=stop|length"}],
       "usage": "#Usage", "timings": "#Timings", "__verbose?": "#WrittenText"})",
     .frames = Frames::kSse,
     .frame = R"({"id": "string", "object": "=text_completion", "created": "integer",
       "model": "string", "system_fingerprint": "string",
       "choices": [{"text": "string", "index": "integer",
         "logprobs": ["#TextProbabilities", "null"], "finish_reason": "string|null"}],
       "tokens?": ["integer"], "usage?": "#Usage", "timings?": "#Timings",
       "prompt_progress?": "#PromptProgress", "__verbose?": "#WrittenText"})"},
    {.endpoint = responses,
     .name = "Response",
     .summary = "Answers a conversation with items; nothing is stored.",
     .body = {response_fields, answer_fields, sampling_fields},
     .answer = R"({"id": "string", "object": "=response", "created_at": "integer",
       "status": "=completed|incomplete", "completed_at": "integer|null", "error": "null",
       "incomplete_details": "object|null", "model": "string",
       "output": [{"type": "=message|reasoning|function_call", "id": "string"}],
       "usage": {"input_tokens": "integer", "input_tokens_details": {"*": "integer"},
         "output_tokens": "integer", "output_tokens_details": {"*": "integer"},
         "total_tokens": "integer"}})",
     .frames = Frames::kSse,
     .frame = R"({"type": "string", "sequence_number": "integer"})"},
    {.endpoint = response_input_tokens,
     .name = "ResponseInputTokens",
     .summary = "Counts the tokens of a conversation of items.",
     .body = {response_fields, answer_fields, sampling_fields},
     .answer = R"({"object": "=response.input_tokens", "input_tokens": "integer"})"},
    {.endpoint = embeddings,
     .name = "Embeddings",
     .summary = "Gives the embeddings of texts.",
     .body = {embedding_fields},
     .answer = R"({"object": "=list",
       "data": [{"object": "=embedding", "index": "integer", "embedding": [["number"], "string"]}],
       "model": "string", "usage": {"prompt_tokens": "integer", "total_tokens": "integer"}})",
     .may_lack = true},
};

}  // namespace

Descriptions descriptions() { return {kRows, kShapes}; }

}  // namespace puna::api::openai
