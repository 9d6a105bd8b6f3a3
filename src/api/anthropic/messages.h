// POST /v1/messages as an endpoint: request.h reads the body; answers are content blocks, whole or
// as events of a stream. Source: Anthropic API reference, "Create a Message" and "Streaming
// Messages".
#pragma once

#include "api/exchange.h"

namespace puna::api::anthropic {

// Errors: those of read_message_request().
base::Result<Exchange> messages(const Call& call);

}  // namespace puna::api::anthropic
