// How errors leave: a status, and a body in the form that clients of a dialect read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"

namespace puna::api {

enum class Dialect : uint8_t { kOpenAi, kAnthropic, kOllama, kLlama };

// 400 for what the request says, 404, 500, 503 for what may go better another time.
int status_of(base::ErrorCode code);

// The body for an error with a status:
//   kOpenAi     {"error": {"message", "type", "param": null, "code"}}
//   kLlama      {"error": {"code": status, "message", "type"}}
//   kAnthropic  {"type": "error", "error": {"type", "message"}}
//   kOllama     {"error": message}
base::Json error_body(Dialect dialect, int status, std::string_view message);
// With the context that the error crossed. Where a prompt does not fit the context, kOpenAi and
// kLlama have the type "exceed_context_size_error", n_prompt_tokens and n_ctx.
base::Json error_body(Dialect dialect, const base::Error& error);

// What a dialect says where no model has a name: Ollama's clients look for its words, all others
// are told `error`.
base::Error no_such_model(Dialect dialect, std::string_view name, base::Error error);

// The text with absolute paths become their last part: whose machine it is and how it is laid out
// is nobody's business, which file it was may be. Addresses of http stay as they are.
std::string without_paths(std::string_view text);

}  // namespace puna::api
