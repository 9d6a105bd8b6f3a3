// POST /apply-template. Source: llama.cpp's server, README, "POST /apply-template".
#pragma once

#include "api/exchange.h"

namespace puna::api::llama {

// The body of a chat completion: {prompt}, the text that the model would be given. Errors: those of
// openai::read_chat() and service::render_prompt().
base::Result<Exchange> apply_template(const Call& call);

}  // namespace puna::api::llama
