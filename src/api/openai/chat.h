// POST /v1/chat/completions and /v1/completions as endpoints: request.h reads the body, stream.h
// makes the chunks. Source: OpenAI API reference, "Chat" and "Completions".
#pragma once

#include "api/exchange.h"

namespace puna::api::openai {

// Errors: those of parse_chat() and parse_completion().
base::Result<Exchange> chat_completions(const Call& call);
base::Result<Exchange> completions(const Call& call);

}  // namespace puna::api::openai
