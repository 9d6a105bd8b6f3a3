// The body of a message request in Anthropic's dialect as a request. What Puna cannot do is refused
// by name. Read next: conversation.h. Source: Anthropic API reference, "Create a Message" and
// "Count tokens in a Message".
#pragma once

#include <span>
#include <string>

#include "api/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "service/model.h"
#include "service/request.h"

namespace puna::api::anthropic {

struct MessageRequest {
  service::Request request;
  bool stream = false;
};

// The rows beside sampling_fields(), before which they come.
std::span<const Field> message_fields();
// Those that come before both where tokens are counted.
std::span<const Field> counted_fields();

// A last message of the assistant that calls no tool is continued. Errors: kInvalidArgument naming
// the field and what stands there, where max_tokens is missing too; kUnsupported for fields whose
// effect Puna cannot give, for thinking where the model does not think, and for a model that was
// loaded for embeddings.
base::Result<MessageRequest> read_message_request(const base::Json& body,
                                                  const service::LoadedModel& model);
// The same for a body whose tokens are to be counted, which needs no max_tokens.
base::Result<service::Request> read_counted_request(const base::Json& body,
                                                    const service::LoadedModel& model);

}  // namespace puna::api::anthropic
