#include "api/llama/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/llama/written_text.h"
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

constexpr Field kCompletionFields[] = {
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

// One answer.
class Chunks {
 public:
  Chunks(WrittenText text, const Completion& completion)
      : text_(std::move(text)),
        return_tokens_(completion.return_tokens),
        reports_(completion.answer.reports),
        fields_(completion.response_fields) {}

  WrittenText& text() { return text_; }

  std::optional<Json> next(const Event& event) {
    stats_.note(event);
    if (event.prompt) {
      if (!reports_.progress) return {};
      return piece("").set("prompt_progress", progress_json(*event.prompt));
    }
    if (event.token >= 0) tokens_.push(event.token);
    if (const auto chosen = chosen_of(event))
      probabilities_.push(chosen_json(text_.tokenizer(), *chosen, text_.n_probs()));
    // A model without a vocabulary brings tokens only.
    if (event.text.empty() && (text_.tokenizer() || event.token < 0)) return {};
    Json out = piece(event.text);
    if (!probabilities_.items().empty())
      out.set("completion_probabilities", std::exchange(probabilities_, Json::array()));
    return out;
  }

  Json last(const Reply& reply) {
    return picked(text_.json(reply, "", std::move(tokens_), std::move(probabilities_)), fields_);
  }

  Json whole(const Reply& reply) const {
    Json tokens = Json::array();
    if (return_tokens_) {
      for (const int32_t id : reply.tokens) tokens.push(id);
    }
    return picked(text_.json(reply, reply.text, std::move(tokens), text_.probabilities(reply)),
                  fields_);
  }

 private:
  // With the tokens that no piece has told of yet.
  Json piece(std::string_view content) {
    Json out = Json::object();
    out.set("index", static_cast<uint64_t>(text_.index())).set("content", content);
    out.set("tokens", std::exchange(tokens_, Json::array())).set("stop", false);
    out.set("id_slot", text_.slot()).set("tokens_predicted", stats_.stats().n_generated);
    out.set("tokens_evaluated", text_.n_prompt());
    if (reports_.timings) out.set("timings", openai::timings_json(stats_.stats()));
    return out;
  }

  WrittenText text_;
  bool return_tokens_;
  Reports reports_;
  std::vector<std::string> fields_;
  RunningStats stats_;
  Json tokens_ = Json::array(), probabilities_ = Json::array();  // that no piece has told of yet
};

class CompletionWriter final : public Writer {
 public:
  CompletionWriter(std::vector<Chunks> texts, bool one) : texts_(std::move(texts)), one_(one) {}

  void set_slot(size_t text, uint32_t slot) override { texts_[text].text().set_slot(slot); }
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
std::span<const Field> completion_fields() { return kCompletionFields; }

Result<Completion> read_completion(const Body& body, const service::LoadedModel& model) {
  Completion out;
  PUNA_TRY(out.answer, read_answer_fields(body, model));
  out.return_tokens = body.flag("return_tokens").value_or(false);
  out.response_fields = body.texts("response_fields");
  return out;
}

Result<Exchange> complete(const Call& call, const Completion& completion,
                          std::vector<service::Request> requests, bool one) {
  const service::LoadedModel& model = call.model->loaded();
  Texts out = texts_of(completion.answer);
  out.requests = repeated(std::move(requests), completion.answer.n);
  std::vector<Chunks> chunks;
  for (const service::Request& request : out.requests) {
    WrittenText::Form form{.index = chunks.size(),
                           .model = call.model->id,
                           .stream = out.stream,
                           .tokenizer = model.tokenizer.get()};
    std::vector<int32_t> prompt = request.tokens;
    if (prompt.empty()) {
      PUNA_TRY(prompt, service::prompt_tokens(model, request));
    }
    chunks.emplace_back(WrittenText(std::move(form), prompt, request), completion);
  }
  one = one && chunks.size() == 1;
  out.writer = std::make_unique<CompletionWriter>(std::move(chunks), one);
  return Exchange(std::move(out));
}

Result<Exchange> completion(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(const Body body,
           Body::read(call.body, {kPrompt, kCompletionFields, answer_fields(), sampling_fields()}));
  PUNA_TRY(const Completion completion, read_completion(body, model));
  PUNA_TRY(Prompts prompts, read_prompts("prompt", body.find("prompt"), model, kMaxPrompts));
  std::vector<service::Request> requests;
  for (Prompt& prompt : prompts.list) {
    if (prompt.media.empty()) {
      PUNA_TRY(prompt.tokens, tokens_of(prompt, model));
      prompt.text.reset();
    }
    requests.push_back(with_prompt(completion.answer.request, std::move(prompt)));
  }
  return complete(call, completion, std::move(requests), prompts.one);
}

}  // namespace puna::api::llama
