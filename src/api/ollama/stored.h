// What Ollama's dialect does with models that lie on this machine: /api/copy, /api/delete and
// /api/blobs at once, /api/pull, /api/push and /api/create as work that takes long. Source:
// Ollama's API documentation, "Copy a Model" to "Push a Model".
#pragma once

#include <span>

#include "api/exchange.h"
#include "api/fields.h"

namespace puna::api::ollama {

std::span<const Field> copy_fields();
std::span<const Field> delete_fields();
std::span<const Field> transfer_fields();
std::span<const Field> create_fields();

// 200 without a body. Errors: kNotFound "model 'x' not found".
base::Result<Exchange> copy(const Call& call);
base::Result<Exchange> remove(const Call& call);
// Whether a blob is there: 200 or 404, without a body. What sends one is the server's
// (server/upload.h).
base::Result<Exchange> blob(const Call& call);

// Lines of {status, digest, total, completed}, the last with status "success".
base::Result<Exchange> pull(const Call& call);
base::Result<Exchange> push(const Call& call);
base::Result<Exchange> create(const Call& call);

}  // namespace puna::api::ollama
