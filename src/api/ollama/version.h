// GET /, /api/version and /api/status. Source: Ollama's API documentation, "Version".
#pragma once

#include "api/exchange.h"

namespace puna::api::ollama {

// "Ollama is running", by which clients know that somebody speaks their dialect.
base::Result<Exchange> root(const Call& call);
// {version}: of the interface.
base::Result<Exchange> version(const Call& call);
// {cloud: {disabled, source}}: models run here and nowhere else.
base::Result<Exchange> status(const Call& call);

}  // namespace puna::api::ollama
