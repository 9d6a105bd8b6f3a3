// POST /api/show. Source: Ollama's API documentation, "Show Model Information".
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::ollama {

std::span<const Field> show_fields();

// A model of the store, which is not loaded for it, or else one that is served. {license,
// modelfile, parameters, template, system, details, model_info, capabilities, modified_at}, where
// there are such {messages, renderer, parser, requires}, and with verbose {tensors}; lists in
// model_info are null unless they are short or verbose is given. The vocabulary is not in it.
// Errors: those of the fields; kNotFound "model 'x' not found".
base::Result<Exchange> show(const Call& call);

}  // namespace puna::api::ollama
