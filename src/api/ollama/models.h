// GET /api/tags and /api/ps. Source: Ollama's API documentation, "List Local Models" and "List
// Running Models".
#pragma once

#include "api/exchange.h"

namespace puna::api::ollama {

// Each model of the store, the latest first, and before them what is served from elsewhere, by each
// of its names.
base::Result<Exchange> tags(const Call& call);
// Each model that is loaded, with the memory that it takes.
base::Result<Exchange> ps(const Call& call);

}  // namespace puna::api::ollama
