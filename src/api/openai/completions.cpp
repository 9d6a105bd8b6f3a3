#include "api/openai/completions.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/llama/fim.h"
#include "api/openai/chat_request.h"
#include "api/probabilities.h"
#include "api/sampling.h"
#include "base/utf8.h"

namespace puna::api::openai {

using base::Json;
using base::Result;
using service::Event;
using service::Reply;

namespace {

using Kind = Field::Kind;

constexpr Field kCompletionsFields[] = {
    Field{"prompt", Kind::kAny, "A text, token ids, both mixed, or a list of such."}
        .needed()
        .shaped(kPromptsShape),
    Field{"stream_options", Kind::kObject, "What a stream has besides."}.with(stream_option_fields),
    {"logprobs", Kind::kInteger, "The probabilities of so many of the most probable tokens.", 0,
     kernels::kMaxProbs},
    Field{"echo", Kind::kFlag, "The answer comes behind its prompt."}.or_else("false"),
    Field{"return_tokens", Kind::kFlag, "The ids of the tokens come too."}.or_else("false"),
    {"best_of", Kind::kInteger, "As many as n: all that are written are given.", 1, kMaxAnswers},
    {"suffix", Kind::kText,
     "What stands behind the answer, where the prompt stands before it; for models that know "
     "how to write in between."},
};

class TextWriter final : public ChunkWriter<CompletionChunks> {
 public:
  TextWriter(const Head& head, const Completion& completion, const service::LoadedModel& model)
      : ChunkWriter(head, completion.answer, completion.include_usage, "text_completion",
                    model.tokenizer.get()) {
    for (const Prompt& prompt : completion.prompts.list) {
      const std::string shown = completion.form.echo ? text_of(prompt, model) : std::string();
      for (size_t i = 0; i < completion.answer.n; ++i)
        texts_.emplace_back(head, texts_.size(), completion.form, shown, model.tokenizer.get());
    }
  }

  std::string begin() override {
    std::string out;
    for (CompletionChunks& text : texts_) {
      if (const auto chunk = text.first()) out += sse(*chunk);
    }
    return out;
  }
};

// A token as a key among others: parts of characters, which are no text of their own, would all
// look alike, and so they are told by their bytes, as OpenAI does.
std::string key_of(const Json& bytes, const std::string& text) {
  if (base::utf8_is_valid(text)) return text;
  std::string out = "bytes:";
  for (const Json& byte : bytes.items()) out += fmt::format("\\x{:02x}", byte.integer());
  return out;
}

// Makes prompts of what stands before the answer, with what stands behind it.
Result<void> write_between(std::string_view suffix, const service::LoadedModel& model,
                           Prompts& prompts) {
  PUNA_TRY(const llama::FimTokens fim, llama::need_fim_tokens(model));
  for (Prompt& prompt : prompts.list) {
    if (!prompt.text || !prompt.media.empty())
      return cannot("suffix", "the prompt is more than a text");
    prompt.tokens = llama::tokens_between(*prompt.text, suffix, fim, model);
    prompt.text.reset();
  }
  return {};
}

// Of a text that may end inside of one.
size_t n_characters(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::span<const Field> completion_fields() { return kCompletionsFields; }

Result<Completion> read_completion(const Json& json, const service::LoadedModel& model) {
  PUNA_TRY(const Body body,
           Body::read(json, {kCompletionsFields, answer_fields(), sampling_fields()}));
  Completion out;
  PUNA_TRY(out.answer, read_answer_fields(body, model));
  out.form.reports = out.answer.reports;
  PUNA_TRY(out.prompts, read_prompts("prompt", body.find("prompt"), model, kMaxPrompts));
  out.form.return_tokens = body.flag("return_tokens").value_or(false);
  out.form.echo = body.flag("echo").value_or(false);
  uint32_t& n_probs = out.answer.request.sampling.n_probs;
  if (const auto logprobs = body.integer("logprobs")) {
    out.form.logprobs = static_cast<uint32_t>(*logprobs);
    n_probs = std::max(1u, *out.form.logprobs);
  } else if (n_probs > 0) {
    out.form.logprobs = n_probs;
  }
  if (out.form.echo && out.form.logprobs)
    return cannot("echo", "the probabilities of prompts are not given yet; leave logprobs out");
  if (body.integer("best_of").value_or(out.answer.n) != out.answer.n)
    return cannot("best_of", "answers are not compared; it has to be as large as n");
  PUNA_TRY(out.include_usage, read_include_usage(body));
  if (const std::string suffix = body.text("suffix").value_or(""); !suffix.empty()) {
    if (out.form.echo)
      return cannot("echo", "an answer between two texts does not stand behind one");
    PUNA_TRY(write_between(suffix, model, out.prompts));
  }
  return out;
}

Json CompletionChunks::logprobs_json() {
  Json tokens = Json::array(), token_logprobs = Json::array(), top = Json::array(),
       offsets = Json::array(), content = Json::array();
  for (const kernels::Chosen& chosen : untold_) {
    const Json one = chosen_json(tokenizer_, chosen, *form_.logprobs);
    const std::string text = token_text(tokenizer_, chosen.id);
    Json best = Json::object();
    for (const Json& each : one.find("top_logprobs")->items())
      best.set(key_of(*each.find("bytes"), each.find("token")->string()), *each.find("logprob"));
    tokens.push(text);
    token_logprobs.push(*one.find("logprob"));
    top.push(std::move(best));
    offsets.push(static_cast<uint64_t>(offset_));
    content.push(one);
    offset_ += n_characters(text);
  }
  untold_.clear();
  Json out = Json::object();
  out.set("tokens", std::move(tokens)).set("token_logprobs", std::move(token_logprobs));
  out.set("top_logprobs", std::move(top)).set("text_offset", std::move(offsets));
  return out.set("content", std::move(content));
}

Json CompletionChunks::chunk(std::string_view text, std::optional<std::string_view> finish) {
  Json choice = Json::object();
  choice.set("text", text).set("index", static_cast<uint64_t>(index_));
  choice.set("logprobs", form_.logprobs && !untold_.empty() ? logprobs_json() : Json());
  choice.set("finish_reason", finish ? Json(*finish) : Json());
  Json out = head_.around("text_completion", Json::array().push(std::move(choice)));
  if (form_.reports.timings) out.set("timings", timings_json(stats_.stats()));
  return out;
}

std::optional<Json> CompletionChunks::first() {
  if (prompt_.empty()) return {};
  return chunk(prompt_);
}

std::optional<Json> CompletionChunks::next(const Event& event) {
  stats_.note(event);
  if (event.prompt) {
    if (!form_.reports.progress) return {};
    return chunk("").set("prompt_progress", progress_json(*event.prompt));
  }
  if (auto chosen = chosen_of(event); chosen && form_.logprobs)
    untold_.push_back(*std::move(chosen));
  const bool token = form_.return_tokens && event.token >= 0;
  if (event.text.empty() && !token) return {};
  Json out = chunk(event.text);
  if (form_.return_tokens)
    out.set("tokens", token ? Json::array().push(event.token) : Json::array());
  return out;
}

Json CompletionChunks::last(const Reply& reply) { return chunk("", finish_reason(reply)); }

Json CompletionChunks::choice(const Reply& reply) {
  untold_ = reply.chosen;
  Json out = Json::object();
  out.set("text", prompt_ + reply.text).set("index", static_cast<uint64_t>(index_));
  out.set("logprobs", form_.logprobs ? logprobs_json() : Json());
  if (form_.return_tokens) {
    Json tokens = Json::array();
    for (const int32_t id : reply.tokens) tokens.push(id);
    out.set("tokens", std::move(tokens));
  }
  return out.set("finish_reason", finish_reason(reply));
}

Result<Exchange> completions(const Call& call) {
  const service::LoadedModel& model = call.model->loaded();
  PUNA_TRY(Completion completion, read_completion(call.body, model));
  Texts out = texts_of(completion.answer);
  out.writer = std::make_unique<TextWriter>(new_head("cmpl", call.model->id), completion, model);
  std::vector<service::Request> requests;
  for (Prompt& prompt : completion.prompts.list)
    requests.push_back(with_prompt(completion.answer.request, std::move(prompt)));
  out.requests = repeated(std::move(requests), completion.answer.n);
  return out;
}

}  // namespace puna::api::openai
