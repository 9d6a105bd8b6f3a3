#include "api/llama/written_text.h"

#include <algorithm>

#include "api/llama/settings.h"
#include "api/openai/common.h"
#include "api/probabilities.h"

namespace puna::api::llama {

using base::Json;
using service::Reply;

namespace {

std::string_view stop_type(const Reply& reply) {
  using engine::StopReason;
  if (!reply.stop_text.empty()) return "word";
  switch (reply.stats.stop) {
    case StopReason::kEnd:
      return "eos";
    case StopReason::kLength:
    case StopReason::kContext:
      return "limit";
    case StopReason::kStopped:
    case StopReason::kCancelled:
      return "none";
  }
  return "none";
}

}  // namespace

WrittenText::WrittenText(Form form, std::span<const int32_t> prompt,
                         const service::Request& request)
    : form_(std::move(form)),
      n_prompt_(prompt.size()),
      n_probs_(request.sampling.n_probs),
      settings_(settings_json(request, form_.stream)) {
  if (!form_.tokenizer) return;
  if (form_.tokenizer->decodes_in_context()) {
    prompt_ = form_.tokenizer->decode({prompt.begin(), prompt.end()}, /*special=*/true);
    return;
  }
  // As the model reads it: with the space that some vocabularies put before texts.
  for (const int32_t id : prompt) prompt_ += form_.tokenizer->bytes(id, /*special=*/true);
}

Json WrittenText::json(const Reply& reply, std::string_view content, Json tokens,
                       Json probabilities) const {
  const engine::GenerateStats& stats = reply.stats;
  const uint32_t n_prompt = stats.prompt_tokens();
  Json out = Json::object();
  out.set("index", static_cast<uint64_t>(form_.index)).set("content", content);
  out.set("tokens", std::move(tokens)).set("id_slot", slot_).set("stop", true);
  out.set("model", form_.model).set("tokens_predicted", stats.n_generated);
  out.set("tokens_evaluated", n_prompt).set("generation_settings", settings_);
  out.set("prompt", prompt_).set("has_new_line", reply.text.find('\n') != std::string::npos);
  out.set("truncated", stats.stop == engine::StopReason::kContext || stats.n_discarded > 0);
  out.set("stop_type", stop_type(reply)).set("stopping_word", reply.stop_text);
  // The last token is in no cache.
  out.set("tokens_cached",
          n_prompt + stats.n_generated - stats.n_discarded - std::min(stats.n_generated, 1u));
  out.set("timings", openai::timings_json(stats));
  if (n_probs_ > 0) out.set("completion_probabilities", std::move(probabilities));
  return out;
}

Json WrittenText::json(const Reply& reply) const {
  return json(reply, reply.text, Json::array(), probabilities(reply));
}

Json WrittenText::probabilities(const Reply& reply) const {
  Json out = Json::array();
  for (const kernels::Chosen& chosen : reply.chosen)
    out.push(chosen_json(form_.tokenizer, chosen, n_probs_));
  return out;
}

}  // namespace puna::api::llama
