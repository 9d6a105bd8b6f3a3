// POST /api/embed, and /api/embeddings as it was before. Source: Ollama's API documentation,
// "Generate Embeddings" and "Generate Embedding".
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::ollama {

std::span<const Field> embed_fields();
std::span<const Field> old_embed_fields();

// {model, embeddings, total_duration, load_duration, prompt_eval_count}: of unit length, cut to
// `dimensions` where these are given. Texts that are too long are cut unless truncate is false; the
// reply then says by how many tokens. A model that gives no embeddings: status 501. Errors: those
// of the fields; kInvalidArgument "invalid input type"; of the job those of service::embed().
base::Result<Exchange> embed(const Call& call);
// {embedding}: of one text, as the model gives it.
base::Result<Exchange> old_embed(const Call& call);

}  // namespace puna::api::ollama
