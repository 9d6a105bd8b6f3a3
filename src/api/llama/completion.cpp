#include "api/llama/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/llama/settings.h"
#include "api/openai/common.h"
#include "api/probabilities.h"
#include "api/prompts.h"
#include "api/sampling.h"

namespace puna::api::llama {

using base::Json;
using base::Result;
using service::Event;
using service::Reply;

namespace {

using Kind = Field::Kind;

constexpr Field kFields[] = {
    Field{"return_tokens", Kind::kFlag,
          "The ids of an answer come too; in a stream they always do."}
        .or_else("false"),
    {"response_fields", Kind::kTexts,
     "What answers have: names, of members of members with slashes (under the same name); none: "
     "all."},
};
constexpr Field kPrompt[] = {
    Field{"prompt", Kind::kAny, "A text, token ids, both mixed, or a list of such."}
        .needed()
        .shaped(kPromptsShape),
};

// Those members of members that "a/b" names, under that name; what there is not is left out.
Json picked(const Json& json, const std::vector<std::string>& fields) {
  if (fields.empty()) return json;
  Json out = Json::object();
  for (const std::string& field : fields) {
    const Json* value = &json;
    size_t at = 0;
    while (value && at <= field.size()) {
      const size_t end = std::min(field.find('/', at), field.size());
      value = value->find(field.substr(at, end - at));
      at = end + 1;
    }
    if (value) out.set(field, *value);
  }
  return out;
}

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

// One answer.
class Chunks {
 public:
  Chunks(size_t index, std::string model, const service::Request& request, std::string prompt,
         const Completion& completion, const tokenizer::Tokenizer* tokenizer)
      : index_(index),
        model_(std::move(model)),
        prompt_(std::move(prompt)),
        n_prompt_(request.tokens.size()),
        n_probs_(request.sampling.n_probs),
        settings_(settings_json(request, completion.answer.stream)),
        return_tokens_(completion.return_tokens),
        fields_(completion.response_fields),
        tokenizer_(tokenizer) {}

  std::optional<Json> next(const Event& event) {
    if (event.token >= 0) {
      ++n_predicted_;
      tokens_.push(event.token);
    }
    if (const auto chosen = chosen_of(event))
      probabilities_.push(chosen_json(tokenizer_, *chosen, n_probs_));
    // A model without a vocabulary brings tokens only.
    if (event.text.empty() && (tokenizer_ || event.token < 0)) return {};
    Json out = Json::object();
    out.set("index", static_cast<uint64_t>(index_)).set("content", event.text);
    out.set("tokens", std::exchange(tokens_, Json::array())).set("stop", false);
    out.set("id_slot", slot_).set("tokens_predicted", n_predicted_);
    out.set("tokens_evaluated", static_cast<uint64_t>(n_prompt_));
    if (!probabilities_.items().empty())
      out.set("completion_probabilities", std::exchange(probabilities_, Json::array()));
    return out;
  }

  Json last(const Reply& reply) {
    return full(reply, "", std::move(tokens_), std::move(probabilities_));
  }

  Json whole(const Reply& reply) {
    Json tokens = Json::array(), probabilities = Json::array();
    if (return_tokens_) {
      for (const int32_t id : reply.tokens) tokens.push(id);
    }
    for (const kernels::Chosen& chosen : reply.chosen)
      probabilities.push(chosen_json(tokenizer_, chosen, n_probs_));
    return full(reply, reply.text, std::move(tokens), std::move(probabilities));
  }

  void set_slot(uint32_t slot) { slot_ = slot; }

 private:
  Json full(const Reply& reply, std::string_view content, Json tokens, Json probabilities) const {
    const engine::GenerateStats& stats = reply.stats;
    const uint32_t n_prompt = stats.n_prompt + stats.n_cached;
    Json out = Json::object();
    out.set("index", static_cast<uint64_t>(index_)).set("content", content);
    out.set("tokens", std::move(tokens)).set("id_slot", slot_).set("stop", true);
    out.set("model", model_).set("tokens_predicted", stats.n_generated);
    out.set("tokens_evaluated", n_prompt).set("generation_settings", settings_);
    out.set("prompt", prompt_).set("has_new_line", reply.text.find('\n') != std::string::npos);
    out.set("truncated", stats.stop == engine::StopReason::kContext || stats.n_discarded > 0);
    out.set("stop_type", stop_type(reply)).set("stopping_word", reply.stop_text);
    // The last token is in no cache.
    out.set("tokens_cached",
            n_prompt + stats.n_generated - stats.n_discarded - std::min(stats.n_generated, 1u));
    out.set("timings", openai::timings_json(stats));
    if (n_probs_ > 0) out.set("completion_probabilities", std::move(probabilities));
    return picked(out, fields_);
  }

  size_t index_;
  std::string model_, prompt_;
  size_t n_prompt_;
  uint32_t n_probs_;
  Json settings_;
  bool return_tokens_;
  std::vector<std::string> fields_;
  const tokenizer::Tokenizer* tokenizer_;
  int64_t slot_ = -1;  // none
  uint64_t n_predicted_ = 0;
  Json tokens_ = Json::array(), probabilities_ = Json::array();  // that no chunk has told of yet
};

class CompletionWriter final : public Writer {
 public:
  CompletionWriter(std::vector<Chunks> texts, bool one) : texts_(std::move(texts)), one_(one) {}

  void set_slot(size_t text, uint32_t slot) override { texts_[text].set_slot(slot); }
  std::string next(size_t text, const Event& event) override {
    const auto chunk = texts_[text].next(event);
    return chunk ? sse(*chunk) : std::string();
  }
  std::string end(size_t text, const Reply& reply) override {
    return sse(texts_[text].last(reply));
  }
  std::string finish() override { return {}; }
  std::string fail(const base::Error& error) override {
    return sse(error_body(Dialect::kLlama, error));
  }
  HttpReply whole(std::vector<Reply> replies) override {
    if (one_) return HttpReply::json(texts_.front().whole(replies.front()));
    Json out = Json::array();
    for (size_t i = 0; i < replies.size(); ++i) out.push(texts_[i].whole(replies[i]));
    return HttpReply::json(out);
  }

 private:
  std::vector<Chunks> texts_;
  bool one_;
};

}  // namespace

std::span<const Field> prompt_fields() { return kPrompt; }
std::span<const Field> completion_fields() { return kFields; }

Result<Completion> read_completion(const Body& body, const service::LoadedModel& model) {
  Completion out;
  PUNA_TRY(out.answer, read_answer_fields(body, model));
  out.return_tokens = body.flag("return_tokens").value_or(false);
  out.response_fields = body.texts("response_fields");
  return out;
}

Exchange complete(const Call& call, const Completion& completion,
                  std::vector<std::vector<int32_t>> prompts, bool one) {
  const tokenizer::Tokenizer* tokenizer = call.model->loaded().tokenizer.get();
  std::vector<service::Request> requests;
  for (std::vector<int32_t>& prompt : prompts) {
    requests.push_back(completion.answer.request);
    requests.back().tokens = std::move(prompt);
  }
  Texts out = texts_of(completion.answer);
  out.requests = repeated(std::move(requests), completion.answer.n);
  std::vector<Chunks> chunks;
  for (const service::Request& request : out.requests) {
    chunks.emplace_back(chunks.size(), call.model->id, request,
                        tokenizer ? tokenizer->decode(request.tokens, /*special=*/true) : "",
                        completion, tokenizer);
  }
  one = one && chunks.size() == 1;
  out.writer = std::make_unique<CompletionWriter>(std::move(chunks), one);
  return out;
}

Result<Exchange> completion(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const Body body,
           Body::read(call.body, {kPrompt, kFields, answer_fields(), sampling_fields()}));
  PUNA_TRY(const Completion completion, read_completion(body, model));
  PUNA_TRY(const Prompts prompts, read_prompts("prompt", body.find("prompt"), model, kMaxPrompts));
  std::vector<std::vector<int32_t>> tokens;
  for (const Prompt& prompt : prompts.list) {
    PUNA_TRY(tokens.emplace_back(), tokens_of(prompt, model));
  }
  return complete(call, completion, std::move(tokens), prompts.one);
}

}  // namespace puna::api::llama
