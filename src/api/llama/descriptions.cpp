// What there is to say of the endpoints of llama.cpp's dialect.
#include "api/answer_fields.h"
#include "api/description.h"
#include "api/llama/apply_template.h"
#include "api/llama/completion.h"
#include "api/llama/embeddings.h"
#include "api/llama/infill.h"
#include "api/llama/lora.h"
#include "api/llama/props.h"
#include "api/llama/rerank.h"
#include "api/llama/router.h"
#include "api/llama/slots.h"
#include "api/llama/tokens.h"
#include "api/openai/chat_request.h"
#include "api/sampling.h"
#include "api/tool_choice.h"

namespace puna::api::llama {

namespace {

using Kind = Field::Kind;

constexpr Field kSlotsQuery[] = {
    {"fail_on_no_slot", Kind::kText, "1: status 503 when all are busy."},
};
constexpr Field kSlotQuery[] = {
    Field{"action", Kind::kText, "What is done."}.needed().one_of("save|restore|erase"),
};

// With response_fields any of the members may be missing, and "stop" be the texts of the settings.
constexpr NamedShape kShapes[] = {
    {"Settings", R"({"seed": "integer", "top_k": "integer", "temperature": "number",
      "top_p": "number", "min_p": "number", "top_n_sigma": "number", "repeat_last_n": "integer",
      "dry_multiplier": "number", "dry_base": "number", "dry_allowed_length": "integer",
      "dry_penalty_last_n": "integer", "mirostat": "integer", "mirostat_tau": "number",
      "mirostat_eta": "number", "n_probs": "integer",
      "logit_bias": [{"token": "integer", "bias": "number|null"}],
      "samplers": ["string"], "n_predict": "integer", "max_tokens": "integer",
      "stop": ["string"], "ignore_eos": "boolean", "adaptive_target": "number",
      "adaptive_decay": "number", "stream": "boolean", "*": "number"})"},
    {"WrittenText", R"({"index?": "integer", "content?": "string", "tokens?": ["integer"],
      "id_slot?": "integer", "stop?": ["boolean", ["string"]], "model?": "string",
      "tokens_predicted?": "integer", "tokens_evaluated?": "integer",
      "generation_settings?": "#Settings", "prompt?": "string", "has_new_line?": "boolean",
      "truncated?": "boolean", "stop_type?": "=none|eos|limit|word", "stopping_word?": "string",
      "tokens_cached?": "integer", "timings?": "#Timings",
      "prompt_progress?": "#PromptProgress", "completion_probabilities?": ["#TokenProbability"]})"},
};

constexpr Description kRows[] = {
    {.endpoint = completion,
     .name = "TextCompletion",
     .summary = "Continues texts; several prompts are answered by a list.",
     .body = {prompt_fields, completion_fields, answer_fields, sampling_fields},
     .answer = R"(["#WrittenText", ["#WrittenText"]])",
     .frames = Frames::kSse,
     .frame = R"("#WrittenText")"},
    {.endpoint = infill,
     .name = "Infill",
     .summary = "Writes what stands between two texts.",
     .body = {infill_fields, completion_fields, answer_fields, sampling_fields},
     .answer = R"(["#WrittenText", ["#WrittenText"]])",
     .frames = Frames::kSse,
     .frame = R"("#WrittenText")"},
    {.endpoint = embeddings,
     .name = "EmbeddingRows",
     .summary = "Gives the embeddings of texts, or of each of their tokens.",
     .body = {embedding_fields},
     .answer = R"([{"index": "integer", "embedding": [["number"]]}])",
     .may_lack = true},
    {.endpoint = rerank,
     .name = "Ranking",
     .summary = "Tells how well texts fit a question, the best first.",
     .body = {rerank_fields},
     .answer = R"([{"model": "string", "object": "=list",
         "usage": {"prompt_tokens": "integer", "total_tokens": "integer"},
         "results": [{"index": "integer", "relevance_score": "number",
           "document?": {"text": "string"}}]},
       [{"index": "integer", "score": "number", "text?": "string"}]])",
     .may_lack = true},
    {.endpoint = tokenize,
     .name = "Tokens",
     .summary = "Gives the tokens of a text.",
     .body = {tokenize_fields},
     .answer = R"({"tokens": [["integer", {"id": "integer", "piece": ["string", ["integer"]]}]]})"},
    {.endpoint = detokenize,
     .name = "Detokenized",
     .summary = "Gives the text of tokens.",
     .body = {detokenize_fields},
     .answer = R"({"content": "string"})"},
    {.endpoint = apply_template,
     .name = "RenderedPrompt",
     .summary = "Gives the text that the template makes of a conversation.",
     .body = {openai::chat_fields, tool_choice_fields, answer_fields, sampling_fields},
     .answer = R"({"prompt": "string"})"},
    {.endpoint = props,
     .name = "Props",
     .summary = "Tells of the model and what holds where requests say nothing.",
     .answer = R"([{"default_generation_settings": {"params": "#Settings", "n_ctx": "integer"},
       "total_slots": "integer", "model_alias": "string", "model_path": "string",
       "model_ftype": "string", "modalities": {"*": "boolean"}, "media_marker": "string", "chat_template?": "string",
       "chat_template_caps?": {"*": "boolean"}, "bos_token": "string", "eos_token": "string",
       "build_info": "string", "is_sleeping": "boolean"},
       {"role": "=router", "max_instances": "integer", "models_autoload": "boolean",
       "model_alias": "string", "model_path": "string",
       "default_generation_settings": {"params": "object", "n_ctx": "integer"},
       "build_info": "string"}])"},
    {.endpoint = load_model,
     .name = "LoadedModel",
     .summary = "Begins to load a model, where the server has several.",
     .body = {router_fields},
     .answer = R"({"success": "boolean"})"},
    {.endpoint = unload_model,
     .name = "UnloadedModel",
     .summary = "Has a model go when it is idle, where the server has several.",
     .body = {router_fields},
     .answer = R"({"success": "boolean"})"},
    {.endpoint = download_model,
     .name = "DownloadedModel",
     .summary = "Begins to fetch a model, where the server has several: \"user/repo:quant\" of "
                "Hugging Face, or what `puna pull` takes. GET /models/sse tells how far it is, and "
                "POST /models/unload ends it.",
     .body = {router_fields},
     .answer = R"({"success": "boolean"})"},
    {.endpoint = remove_model,
     .name = "RemovedModel",
     .summary = "Deletes a model of Puna's store, or ends its download.",
     .answer = R"({"success": "boolean"})",
     .query = removed_model_query},
    {.endpoint = change_props,
     .name = "ChangedProps",
     .summary = "Changes nothing, and says so where it is not switched off.",
     .answer = R"({"success": "boolean"})",
     .may_lack = true},
    {.endpoint = lora_adapters,
     .name = "Adapters",
     .summary = "Lists the adapters (LoRA) of the model; there are none yet.",
     .answer = R"([{"id": "integer", "path": "string", "scale": "number"}])"},
    {.endpoint = change_lora_adapters,
     .name = "ChangedAdapters",
     .summary = "Takes a list of {id, scale}, which has to be empty: there are no adapters yet.",
     .answer = R"({"success": "boolean"})"},
    {.endpoint = slots,
     .name = "Slots",
     .summary = "Tells of the texts that are being written, or were last, by slot.",
     .answer = R"([{"id": "integer", "n_ctx": "integer", "speculative": "boolean",
       "is_processing": "boolean", "id_task?": "integer", "params?": "#Settings",
       "n_prompt_tokens?": "integer", "n_prompt_tokens_processed?": "integer",
       "n_prompt_tokens_cache?": "integer", "next_token?": [{"has_next_token": "boolean",
         "has_new_line": "boolean", "n_remain": "integer", "n_decoded": "integer"}]}])",
     .query = [] { return std::span<const Field>(kSlotsQuery); }},
    {.endpoint = change_slot,
     .name = "ChangedSlot",
     .summary = "Saves the text of a slot to a file, restores it from one, or erases it.",
     .body = {change_slot_fields},
     .answer = R"({"id_slot": "integer", "filename?": "string", "n_saved?": "integer",
       "n_written?": "integer", "n_restored?": "integer", "n_read?": "integer",
       "n_erased?": "integer", "timings?": {"save_ms?": "number", "restore_ms?": "number"}})",
     .query = [] { return std::span<const Field>(kSlotQuery); },
     .may_lack = true},
};

}  // namespace

Descriptions descriptions() { return {kRows, kShapes}; }

}  // namespace puna::api::llama
