// POST /embedding and /embeddings. Source: llama.cpp's server, README, "POST /embedding".
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::llama {

std::span<const Field> embedding_fields();

// {content or input, embd_normalize}: [{index, embedding: [row, …]}], one row a text, or one for
// each token of a model that pools none, which stay as they are. Errors: those of the fields and of
// read_prompts(); kInvalidArgument for a model that gives scores. 501 for one that gives text.
base::Result<Exchange> embeddings(const Call& call);

}  // namespace puna::api::llama
