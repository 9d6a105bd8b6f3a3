// POST /api/show. Source: Ollama's API documentation, "Show Model Information".
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"
#include "service/model_card.h"
#include "service/model_texts.h"

namespace puna::api::ollama {

std::span<const Field> show_fields();

// {license, modelfile, parameters, template, system, details, model_info, capabilities}, where
// there are such {messages, renderer, parser, requires}, and with `verbose` {tensors}; lists in
// model_info are null unless they are short or `verbose` is given. The vocabulary is not in it.
base::Json shown_json(const service::ModelTexts& texts, const service::ModelCard& card,
                      const formats::ModelFile& file, bool verbose);

// A model of the store, which is not loaded for it, or else one that is served: shown_json() with
// {modified_at}. Errors: those of the fields; kNotFound "model 'x' not found".
base::Result<Exchange> show(const Call& call);

}  // namespace puna::api::ollama
