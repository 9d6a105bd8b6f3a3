#include "api/stream_failure.h"

#include <doctest/doctest.h>

using namespace puna::api;

TEST_CASE("a stream that was begun elsewhere ends in the shape of its dialect") {
  const puna::base::Error error{puna::base::ErrorCode::kNetwork, "It is gone.", {}};
  const auto of = [&](Dialect dialect, std::string_view type, bool is_response = false) {
    return stream_failure(dialect, type, is_response, 7, error);
  };
  CHECK(of(Dialect::kOllama, "application/x-ndjson") == "{\"error\":\"It is gone.\"}\n");
  CHECK(of(Dialect::kOpenAi, "text/event-stream") ==
        "data: {\"error\":{\"message\":\"It is gone.\",\"type\":\"server_error\",\"param\":null,"
        "\"code\":502}}\n\n");
  CHECK(
      of(Dialect::kLlama, "text/event-stream") ==
      "data: {\"error\":{\"code\":502,\"message\":\"It is gone.\",\"type\":\"server_error\"}}\n\n");
  CHECK(
      of(Dialect::kAnthropic, "text/event-stream") ==
      "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"It "
      "is gone.\"}}\n\n");
  CHECK(of(Dialect::kOpenAi, "text/event-stream", /*is_response=*/true) ==
        "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"It is "
        "gone.\",\"param\":null,\"sequence_number\":7}\n\n");
}
