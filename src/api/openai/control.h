// POST /v1/chat/completions/control: says something to a chat completion that is under way, by its
// id. Source: llama.cpp's server.
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::openai {

std::span<const Field> control_fields();

// Ends the thinking of a completion that was asked for with "reasoning_control": {success: true},
// or {success: false, message} where it has none to be ended. Errors: those of the fields.
base::Result<Exchange> control_chat(const Call& call);

}  // namespace puna::api::openai
