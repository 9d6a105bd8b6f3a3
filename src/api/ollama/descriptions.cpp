// What there is to say of the endpoints of Ollama's dialect.
#include "api/description.h"
#include "api/ollama/asked.h"
#include "api/ollama/chat.h"
#include "api/ollama/embed.h"
#include "api/ollama/generate.h"
#include "api/ollama/models.h"
#include "api/ollama/not_here.h"
#include "api/ollama/show.h"
#include "api/ollama/version.h"

namespace puna::api::ollama {

namespace {

constexpr NamedShape kShapes[] = {
    {"ModelDetails", R"({"parent_model": "string", "format": "string", "family": "string",
      "families": ["string"], "parameter_size": "string", "quantization_level": "string",
      "context_length": "integer", "embedding_length": "integer"})"},
    {"ChatLine", R"({"model": "string", "created_at": "string",
      "message": {"role": "=assistant", "content": "string", "thinking?": "string",
        "tool_calls?": [{"id": "string",
          "function": {"index": "integer", "name": "string", "arguments": "object"}}]},
      "done": "boolean", "done_reason?": "=stop|length|load|unload",
      "logprobs?": ["#TokenProbability"], "total_duration?": "integer",
      "load_duration?": "integer", "prompt_eval_count?": "integer",
      "prompt_eval_duration?": "integer", "eval_count?": "integer", "eval_duration?": "integer",
      "truncated_tokens?": "integer"})"},
    {"GenerateLine", R"({"model": "string", "created_at": "string", "response": "string",
      "thinking?": "string", "done": "boolean", "done_reason?": "=stop|length|load|unload",
      "logprobs?": ["#TokenProbability"], "total_duration?": "integer",
      "load_duration?": "integer", "prompt_eval_count?": "integer",
      "prompt_eval_duration?": "integer", "eval_count?": "integer", "eval_duration?": "integer",
      "truncated_tokens?": "integer"})"},
};

constexpr Description kRows[] = {
    {.endpoint = root,
     .name = "Root",
     .summary = "Shows that the server is there.",
     .answer = R"("string")",
     .media_type = "text/plain"},
    {.endpoint = version,
     .name = "Version",
     .summary = "Gives the version of the interface.",
     .answer = R"({"version": "string"})"},
    {.endpoint = tags,
     .name = "Tags",
     .summary = "Lists the models by all their names.",
     .answer = R"({"models": [{"name": "string", "model": "string", "modified_at": "string",
       "size": "integer", "digest": "string", "details": "#ModelDetails",
       "capabilities": ["string"]}]})"},
    {.endpoint = ps,
     .name = "Running",
     .summary = "Lists the models that are loaded.",
     .answer = R"({"models": [{"name": "string", "model": "string", "size": "integer",
       "digest": "string", "details": "#ModelDetails", "expires_at": "string",
       "size_vram": "integer", "context_length": "integer"}]})"},
    {.endpoint = chat,
     .name = "Chat",
     .summary = "Answers a conversation.",
     .body = {chat_fields, asked_fields},
     .answer = R"("#ChatLine")",
     .frames = Frames::kNdjson,
     .frame = R"("#ChatLine")"},
    {.endpoint = generate,
     .name = "Generated",
     .summary = "Answers or continues a text.",
     .body = {generate_fields, asked_fields},
     .answer = R"("#GenerateLine")",
     .frames = Frames::kNdjson,
     .frame = R"("#GenerateLine")"},
    {.endpoint = embed,
     .name = "Embedded",
     .summary = "Gives the embeddings of texts, of unit length.",
     .body = {embed_fields},
     .answer = R"({"model": "string", "embeddings": [["number"]], "total_duration": "integer",
       "load_duration": "integer", "prompt_eval_count": "integer"})",
     .may_lack = true},
    {.endpoint = old_embed,
     .name = "OldEmbedded",
     .summary = "Gives the embedding of one text, as the model gives it.",
     .body = {old_embed_fields},
     .answer = R"({"embedding": ["number"]})",
     .may_lack = true},
    {.endpoint = show,
     .name = "Shown",
     .summary = "Tells of a model.",
     .body = {show_fields},
     .answer = R"({"license": "string", "modelfile": "string", "parameters": "string",
       "template": "string", "system": "string", "details": "#ModelDetails",
       "model_info": "object",
       "tensors?": [{"name": "string", "type": "string", "shape": ["integer"]}],
       "capabilities": ["string"], "modified_at": "string"})"},
    {.endpoint = not_here, .name = "NotHere", .summary = "Is not possible here.", .may_lack = true},
};

}  // namespace

Descriptions descriptions() { return {kRows, kShapes}; }

}  // namespace puna::api::ollama
