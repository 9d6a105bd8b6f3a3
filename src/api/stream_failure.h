// How a stream ends that was begun elsewhere, by a writer that is gone: an error in the shape that
// its dialect has for one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/errors.h"

namespace puna::api {

// What is said where a process that answers for this one does not: 502 for kNetwork, which an error
// of the network is not where it is this process that asks; else as error_body(). Without paths.
base::Json elsewhere_error_body(Dialect dialect, const base::Error& error);
int elsewhere_status_of(base::ErrorCode code);

// `content_type` of the stream: "application/x-ndjson" has a line, all others an event.
// `is_response`: it is one of OpenAI's /v1/responses, whose events are numbered, this one with
// `n_events`.
std::string stream_failure(Dialect dialect, std::string_view content_type, bool is_response,
                           uint64_t n_events, const base::Error& error);

}  // namespace puna::api
