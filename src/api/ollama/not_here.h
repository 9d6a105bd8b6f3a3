// What Ollama's interface has and this server does not: pulling, pushing, making, copying and
// deleting of models, blobs, accounts.
#pragma once

#include "api/exchange.h"

namespace puna::api::ollama {

// Status 501 in the form of the dialect, with the path.
base::Result<Exchange> not_here(const Call& call);

}  // namespace puna::api::ollama
