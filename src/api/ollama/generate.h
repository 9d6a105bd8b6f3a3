// POST /api/generate. Source: Ollama's API documentation, "Generate a completion".
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::ollama {

// The rows beside asked_fields().
std::span<const Field> generate_fields();

// Without a prompt it is said that the model is loaded. The prompt is what a user says to a model
// that has a template, unless `raw`; else it is continued as it stands. With a suffix the model
// writes what stands between both. Errors: those of the fields; kInvalidArgument for a system text
// beside a suffix; kUnsupported for what the model cannot do (generate, insert, thinking, a system
// text without a template).
base::Result<Exchange> generate(const Call& call);

}  // namespace puna::api::ollama
