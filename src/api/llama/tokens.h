// POST /tokenize and /detokenize. Source: llama.cpp's server, README, "POST /tokenize" and the one
// behind it.
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::llama {

std::span<const Field> tokenize_fields();
std::span<const Field> detokenize_fields();

// {content, add_special, parse_special, with_pieces}: {tokens}. Errors: those of the fields;
// kUnsupported for a model without a vocabulary.
base::Result<Exchange> tokenize(const Call& call);
// {tokens}: {content}. Errors: likewise, and kInvalidArgument for ids outside the vocabulary.
base::Result<Exchange> detokenize(const Call& call);

}  // namespace puna::api::llama
