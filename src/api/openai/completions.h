// POST /v1/completions. Source: OpenAI API reference, "Completions"; llama.cpp's server for what it
// adds.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/answer_fields.h"
#include "api/openai/common.h"
#include "api/prompts.h"

namespace puna::api::openai {

// How an answer is written.
struct CompletionForm {
  std::optional<uint32_t> logprobs;  // of so many of the most probable tokens; none: without
  bool return_tokens = false;        // with the ids of its tokens
  bool echo = false;                 // behind its prompt
  Reports reports;
};
struct Completion {
  AnswerFields answer;  // without a prompt
  Prompts prompts;
  CompletionForm form;
  bool include_usage = false;  // stream_options.include_usage
};

// The rows beside answer_fields() and sampling_fields().
std::span<const Field> completion_fields();

// Errors: kInvalidArgument naming the field and what stands there; kUnsupported for fields whose
// effect Puna cannot give.
base::Result<Completion> read_completion(const base::Json& body, const service::LoadedModel& model);

// One answer, as chunks and as a whole. Probabilities come in OpenAI's form for completions
// {tokens, token_logprobs, top_logprobs, text_offset}, and beside it as chats have them, which is
// what llama.cpp's server gives here ({content}).
class CompletionChunks {
 public:
  // prompt: what is echoed. tokenizer: for the texts of tokens; may be null.
  CompletionChunks(Head head, size_t index, const CompletionForm& form, std::string prompt,
                   const tokenizer::Tokenizer* tokenizer)
      : head_(std::move(head)),
        index_(index),
        form_(form),
        prompt_(std::move(prompt)),
        tokenizer_(tokenizer) {}

  // The prompt, where it is echoed.
  std::optional<base::Json> first();
  std::optional<base::Json> next(const service::Event& event);
  base::Json last(const service::Reply& reply);
  // In place of chunks: {text, index, logprobs, finish_reason}.
  base::Json choice(const service::Reply& reply);

 private:
  base::Json chunk(std::string_view text, std::optional<std::string_view> finish = {});
  // Of tokens that no chunk has told of yet.
  base::Json logprobs_json();

  Head head_;
  size_t index_;
  CompletionForm form_;
  std::string prompt_;
  const tokenizer::Tokenizer* tokenizer_;
  RunningStats stats_;
  std::vector<kernels::Chosen> untold_;
  size_t offset_ = 0;  // characters before the first of them
};

// Errors: those of read_completion().
base::Result<Exchange> completions(const Call& call);

}  // namespace puna::api::openai
