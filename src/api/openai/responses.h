// POST /v1/responses as an endpoint. response_request.h reads the body, response_items.h writes
// what the model brings. Source: OpenAI API reference, "Responses".
#pragma once

#include "api/exchange.h"

namespace puna::api::openai {

// Errors: those of read_response_request().
base::Result<Exchange> responses(const Call& call);

// POST /v1/responses/input_tokens: {object, input_tokens}, of the same body, however long the
// prompt is. Errors: those of read_response_request() and service::prompt_tokens().
base::Result<Exchange> response_input_tokens(const Call& call);

}  // namespace puna::api::openai
