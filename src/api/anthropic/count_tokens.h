// POST /v1/messages/count_tokens. Source: Anthropic API reference, "Count tokens in a Message".
#pragma once

#include "api/exchange.h"

namespace puna::api::anthropic {

// {input_tokens}: of the prompt that the template makes, however long it is. Errors: those of
// read_counted_request() and service::prompt_tokens().
base::Result<Exchange> count_tokens(const Call& call);

}  // namespace puna::api::anthropic
