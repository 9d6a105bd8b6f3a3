// POST /api/chat. Source: Ollama's API documentation, "Generate a chat completion".
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::ollama {

// The rows beside asked_fields().
std::span<const Field> chat_fields();

// Without messages it is said that the model is loaded. A last message of the assistant that calls
// no tool is continued. Errors: those of the fields, and with the number of the message (from 0) of
// what stands in it; kUnsupported for what the model cannot do (chat, tools, thinking).
base::Result<Exchange> chat(const Call& call);

}  // namespace puna::api::ollama
