// The body of a request to OpenAI's Responses as a request. What Puna cannot do is refused by name.
// Read next: response_input.h. Source: OpenAI API reference, "Responses".
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "api/answer_fields.h"
#include "api/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "service/model.h"

namespace puna::api::openai {

// How an answer is written.
struct ResponseForm {
  std::optional<uint32_t> top_logprobs;  // none: without probabilities
  bool one_call = false;                 // of several calls the first
  Reports reports;
  base::Json settings;  // what the answer says again of the request: an object
};
struct ResponseRequest {
  AnswerFields answer;  // with the request as a whole
  ResponseForm form;
};

// The rows before answer_fields() and sampling_fields().
std::span<const Field> response_fields();

// A last message of the assistant is continued. Errors: kInvalidArgument naming the field and what
// stands there, and for calls without their outputs; kUnsupported for fields whose effect Puna
// cannot give.
base::Result<ResponseRequest> read_response_request(const base::Json& body,
                                                    const service::LoadedModel& model);

}  // namespace puna::api::openai
