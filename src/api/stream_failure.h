// How a stream ends that was begun elsewhere, by a writer that is gone: an error in the shape that
// its dialect has for one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/errors.h"

namespace puna::api {

// `content_type` of the stream: "application/x-ndjson" has a line, all others an event.
// `is_response`: it is one of OpenAI's /v1/responses, whose events are numbered, this one with
// `n_events`.
std::string stream_failure(Dialect dialect, std::string_view content_type, bool is_response,
                           uint64_t n_events, const base::Error& error);

}  // namespace puna::api
