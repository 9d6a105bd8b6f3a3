// The HTTP client of a build without libcurl: refuses every request.
#include <fmt/format.h>

#include "io/http/http_client.h"

namespace puna::io {

base::Result<void> http_get(const HttpRequest& request, const HttpSink&) {
  return base::fail(
      base::ErrorCode::kUnsupported,
      fmt::format("This build has no HTTP client, so it cannot get {}.", request.url));
}

}  // namespace puna::io
