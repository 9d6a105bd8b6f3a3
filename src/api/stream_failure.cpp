#include "api/stream_failure.h"

#include <utility>

#include "api/exchange.h"

namespace puna::api {

using base::Json;

int elsewhere_status_of(base::ErrorCode code) {
  constexpr int kBadGateway = 502;
  return code == base::ErrorCode::kNetwork ? kBadGateway : status_of(code);
}

Json elsewhere_error_body(Dialect dialect, const base::Error& error) {
  return error_body(dialect, elsewhere_status_of(error.code), without_paths(error.text()));
}

std::string stream_failure(Dialect dialect, std::string_view content_type, bool is_response,
                           uint64_t n_events, const base::Error& error) {
  if (content_type.starts_with("application/x-ndjson"))
    return ndjson(elsewhere_error_body(dialect, error));
  if (is_response) {
    Json event = Json::object();
    event.set("type", "error").set("code", "server_error");
    event.set("message", without_paths(error.text()));
    return sse(event.set("param", nullptr).set("sequence_number", n_events), "error");
  }
  return sse(elsewhere_error_body(dialect, error), dialect == Dialect::kAnthropic ? "error" : "");
}

}  // namespace puna::api
