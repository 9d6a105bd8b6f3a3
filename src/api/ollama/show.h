// POST /api/show. Source: Ollama's API documentation, "Show Model Information".
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::ollama {

std::span<const Field> show_fields();

// {license, modelfile, parameters, template, system, details, model_info, capabilities,
//  modified_at}, and with verbose {tensors}; lists in model_info are null unless they are short or
// verbose is given. The vocabulary is not in it. Errors: those of the fields; kNotFound for a
// "name" that the model does not have.
base::Result<Exchange> show(const Call& call);

}  // namespace puna::api::ollama
