// GET /v1/models and /v1/models/{id}. Source: OpenAI API reference, "Models"; llama.cpp's server
// for `meta`.
#pragma once

#include <string>

#include "api/exchange.h"

namespace puna::api::openai {

// {models, object: "list", data}: `models` is what llama.cpp's server lists beside OpenAI's data.
base::Result<Exchange> models(const Call& call);
// Errors: kNotFound for a name that no loaded model has.
base::Result<Exchange> model(const Call& call);

// The mix of types that the file says it has: "Q4_K_M"; empty where it says none that is known.
std::string file_type(const service::LoadedModel& model);

}  // namespace puna::api::openai
