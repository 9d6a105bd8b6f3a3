// HTTP downloads: one ranged GET whose body is handed on as it arrives. Native only; a build
// without libcurl links no_http_client.cpp instead. Read next: store/download.h, which resumes with
// it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"

namespace puna::io {

struct HttpRequest {
  std::string url{};    // http or https; redirects are followed, never from https to http
  uint64_t offset = 0;  // first byte wanted
  std::string
      if_range{};  // entity tag of what is held already; the server starts over when it changed
  int connect_timeout_ms = 5000;              // name look-up, connection and TLS together
  int stall_timeout_s = 30;                   // no byte for so long ends the request
  const std::atomic<bool>* cancel = nullptr;  // seen within a second
};

// What the final answer says, known before its body.
struct HttpHead {
  int status = 0;            // 200 (from the first byte) or 206 (from `offset`)
  uint64_t offset = 0;       // of the first body byte in the resource
  uint64_t total_bytes = 0;  // of the whole resource; 0 when not told
  std::string etag;          // empty when there is none, or only a weak one
};

// Called once before the body, then for each piece of it. An error returned ends the request and is
// passed on.
struct HttpSink {
  std::function<base::Result<void>(const HttpHead&)> head;
  std::function<base::Result<void>(std::span<const std::byte>)> body;
};

// Runs the request to its end. Errors: kInvalidArgument (no http URL), kNotFound (404, 410),
// kNetwork (no connection, another status, an answer cut short, a range other than the one asked
// for), kCancelled, kUnsupported (no HTTP in this build), and whatever the sink returns.
base::Result<void> http_get(const HttpRequest& request, const HttpSink& sink);

}  // namespace puna::io
