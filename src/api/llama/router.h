// What llama.cpp's server has where it has several models: POST /models/load and /models/unload,
// POST and DELETE /models, and GET /props without a model. Source: llama.cpp's server, README,
// "Using multiple models".
#pragma once

#include <optional>
#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::llama {

std::span<const Field> router_fields();

// {"success": true}: it is being loaded, or goes when it is idle. Errors: those of the fields and
// of ModelControl; kUnsupported where the server has one model.
base::Result<Exchange> load_model(const Call& call);
base::Result<Exchange> unload_model(const Call& call);

// POST /models: {"success": true}: it is on its way. "user/repo:quant" is of Hugging Face, as
// there; other names are those of the store. Errors: as above.
base::Result<Exchange> download_model(const Call& call);

std::span<const Field> removed_model_query();

// DELETE /models?model=: {"success": true}: it is deleted. Errors: as above.
base::Result<Exchange> remove_model(const Call& call);

// A Before (exchange.h): what is said of a server of several models, where none is named.
base::Result<std::optional<HttpReply>> router_props(const Call& call);

}  // namespace puna::api::llama
