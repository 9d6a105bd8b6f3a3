// What is said in a sound, as OpenAI's interface and llama.cpp's server have it: a question of a
// model that hears. Source: OpenAI API reference, "Audio".
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::openai {

std::span<const Field> transcription_fields();

// Of a form (form_body.h), whose values are texts. A model that does not hear: status 501. Errors:
// those of the fields; kUnsupported for a model that was loaded for embeddings.
base::Result<Exchange> transcriptions(const Call& call);

}  // namespace puna::api::openai
