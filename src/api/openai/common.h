// What chat and text completions have in common: the head of answers, usage, timings, reasons to
// finish, and the writer of a stream's frames.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/answer_fields.h"
#include "api/exchange.h"
#include "api/llama/written_text.h"

namespace puna::api::openai {

struct Head {
  std::string id;       // of the answer, the same in all chunks
  std::string model;    // as answers call it
  int64_t created = 0;  // seconds since 1970

  // {id, object, created, model, system_fingerprint, choices}
  base::Json around(std::string_view object, base::Json choices) const;
};
// Twenty-four hexadecimal digits that no other answer has.
std::string new_digits();
// With a new id: "chatcmpl-…".
Head new_head(std::string_view prefix, std::string model);
// {prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details}
base::Json usage_json(const engine::GenerateStats& stats);
// {cache_n, prompt_n, prompt_ms, prompt_per_token_ms, prompt_per_second, predicted_n, …}. The first
// token counts to the prompt.
base::Json timings_json(const engine::GenerateStats& stats);
// Whether an answer ends because there was no room for more of it.
bool is_cut(const service::Reply& reply);
// "stop", "length" or "tool_calls". What there is of a cancelled answer has stopped.
std::string_view finish_reason(const service::Reply& reply);

// Texts that were written beside each other as one: n answers to each prompt, whose tokens count
// once.
class Totals {
 public:
  explicit Totals(uint32_t n_answers) : n_answers_(n_answers) {}
  void add(size_t text, const engine::GenerateStats& stats);
  const engine::GenerateStats& stats() const { return stats_; }

 private:
  const uint32_t n_answers_;
  engine::GenerateStats stats_;
};

// The frames of both kinds of stream behind their chunks: what is counted comes with the last one
// before [DONE], which is one of its own where the usage is asked for.
class CompletionWriter : public Writer {
 public:
  // tokenizer: of the model; may be null.
  CompletionWriter(Head head, const AnswerFields& answer, bool include_usage,
                   const tokenizer::Tokenizer* tokenizer)
      : head_(std::move(head)),
        totals_(answer.n),
        include_usage_(include_usage),
        verbose_(answer.reports.verbose),
        stream_(answer.stream),
        tokenizer_(tokenizer) {}

  void set_prompt(size_t text, const service::Prepared& prepared) override;
  void set_slot(size_t text, uint32_t slot) override;
  std::string finish() override;
  std::string fail(const base::Error& error) override;

 protected:
  // The frame of the chunk that ends a text.
  std::string end_frame(size_t text, base::Json chunk, const service::Reply& reply);
  // All answers as one body.
  HttpReply answer(std::string_view object, base::Json choices,
                   const std::vector<service::Reply>& replies);

 private:
  // A text as llama.cpp's server has it, where the request is verbose.
  void set_written(base::Json& out, size_t text, const service::Reply& reply) const;

  Head head_;
  Totals totals_;
  bool include_usage_, verbose_, stream_;
  const tokenizer::Tokenizer* tokenizer_;
  std::map<size_t, llama::WrittenText> written_;  // by text, where verbose
  std::string object_;                            // of the chunks
};

// What chats and completions have in common behind their first chunks: each text has chunks of its
// own, with next(), last() and choice() as ChatChunks has them.
template <class Chunks>
class ChunkWriter : public CompletionWriter {
 public:
  // object: what all answers as one body are.
  ChunkWriter(Head head, const AnswerFields& answer, bool include_usage, std::string_view object,
              const tokenizer::Tokenizer* tokenizer)
      : CompletionWriter(std::move(head), answer, include_usage, tokenizer),
        whole_object_(object) {}

  std::string next(size_t text, const service::Event& event) final {
    const auto chunk = texts_[text].next(event);
    return chunk ? sse(*chunk) : std::string();
  }
  std::string end(size_t text, const service::Reply& reply) final {
    return end_frame(text, texts_[text].last(reply), reply);
  }
  HttpReply whole(std::vector<service::Reply> replies) final {
    base::Json choices = base::Json::array();
    for (size_t i = 0; i < replies.size(); ++i) choices.push(texts_[i].choice(replies[i]));
    return answer(whole_object_, std::move(choices), replies);
  }

 protected:
  std::vector<Chunks> texts_;

 private:
  const std::string_view whole_object_;
};

}  // namespace puna::api::openai
