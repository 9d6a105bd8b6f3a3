// POST /infill: writes what stands between two texts. Source: llama.cpp's server, README, "POST
// /infill"; Bavarian et al. 2022 for the order of the parts.
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::llama {

// The rows beside those of /completion.
std::span<const Field> infill_fields();

// {input_prefix, input_suffix, input_extra: [{filename, text}], prompt, …}: as /completion answers.
// `prompt` is what is written of the middle already. Errors: those of the fields; kUnsupported for
// a model without the tokens that this takes.
base::Result<Exchange> infill(const Call& call);

}  // namespace puna::api::llama
