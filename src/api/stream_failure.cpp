#include "api/stream_failure.h"

#include <utility>

#include "api/exchange.h"

namespace puna::api {

using base::Json;

std::string stream_failure(Dialect dialect, std::string_view content_type, bool is_response,
                           uint64_t n_events, const base::Error& error) {
  if (content_type.starts_with("application/x-ndjson")) return ndjson(error_body(dialect, error));
  if (is_response) {
    Json event = Json::object();
    event.set("type", "error").set("code", "server_error").set("message", error.text());
    return sse(event.set("param", nullptr).set("sequence_number", n_events), "error");
  }
  return sse(error_body(dialect, error), dialect == Dialect::kAnthropic ? "error" : "");
}

}  // namespace puna::api
