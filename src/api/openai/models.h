// GET /v1/models and /v1/models/{id}. Source: OpenAI API reference, "Models"; llama.cpp's server
// for `meta`.
#pragma once

#include "api/exchange.h"

namespace puna::api::openai {

base::Result<Exchange> models(const Call& call);
// Errors: kNotFound for a name that no loaded model has.
base::Result<Exchange> model(const Call& call);

}  // namespace puna::api::openai
