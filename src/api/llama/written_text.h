// An answer as llama.cpp's server has it: what /completion gives, and what stands beside answers of
// OpenAI's dialect where a request is verbose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "service/request.h"
#include "tokenizer/tokenizer.h"

namespace puna::api::llama {

class WrittenText {
 public:
  struct Form {
    size_t index = 0;   // among the answers of a request
    std::string model;  // as answers call it
    bool stream = false;
    const tokenizer::Tokenizer* tokenizer = nullptr;  // of the model; may be null
  };
  // The prompt that it is written behind, and how.
  WrittenText(Form form, std::span<const int32_t> prompt, const service::Request& request);

  void set_slot(uint32_t slot) { slot_ = slot; }

  size_t index() const { return form_.index; }
  int64_t slot() const { return slot_; }  // -1: none
  uint64_t n_prompt() const { return n_prompt_; }
  uint32_t n_probs() const { return n_probs_; }
  const tokenizer::Tokenizer* tokenizer() const { return form_.tokenizer; }

  // {index, content, tokens, id_slot, stop, model, …, prompt, …, timings}. `tokens` and
  // `probabilities` are lists.
  base::Json json(const service::Reply& reply, std::string_view content, base::Json tokens,
                  base::Json probabilities) const;
  // With the whole text, and without ids; what was counted is in its head.
  base::Json json(const service::Reply& reply) const;
  // Of the tokens of a reply.
  base::Json probabilities(const service::Reply& reply) const;

 private:
  Form form_;
  std::string prompt_;
  uint64_t n_prompt_;
  uint32_t n_probs_;
  base::Json settings_;
  int64_t slot_ = -1;
};

}  // namespace puna::api::llama
