// POST /completion. Source: llama.cpp's server, README, "POST /completion". /infill answers in the
// same form (infill.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/answer_fields.h"
#include "api/exchange.h"

namespace puna::api::llama {

std::span<const Field> prompt_fields();
// The rows beside answer_fields() and sampling_fields(), without the prompt.
std::span<const Field> completion_fields();

struct Completion {
  AnswerFields answer;  // without a prompt
  bool return_tokens = false;
  std::vector<std::string> response_fields;  // what answers have; empty: all
};
// Of a body that was read by the fields. Errors: those of read_answer_fields().
base::Result<Completion> read_completion(const Body& body, const service::LoadedModel& model);

// The answers to requests, which are of token ids or of texts with media; `one`: a single one is no
// list. Errors: those of service::prompt_tokens().
base::Result<Exchange> complete(const Call& call, const Completion& completion,
                                std::vector<service::Request> requests, bool one);

// Errors: those of the fields and of read_prompts().
base::Result<Exchange> completion(const Call& call);

}  // namespace puna::api::llama
