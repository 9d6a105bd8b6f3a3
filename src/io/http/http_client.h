// HTTP requests, several at once on one thread: each answer's body is handed on as it arrives.
// Native only; a build without libcurl links no_http_client.cpp instead. Redirects are followed for
// GET and HEAD, at most ten, never from https to http nor to another scheme, never to an address
// that only this machine or its network can reach unless the request began there; what identifies
// the caller stays with the host that it is for. Proxies are taken from the environment as curl
// does. Read next: store/pull/download.h, which resumes with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/http/addresses.h"

namespace puna::io {

struct HttpRange {
  uint64_t first = 0;
  uint64_t bytes = 0;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url{};                   // http or https
  bool plain_http = false;             // http is allowed; else it is refused, with the reason
  std::optional<HttpRange> range{};    // of the resource
  std::string if_range{};              // entity tag of what is held already
  std::vector<std::string> headers{};  // "Name: value", for every host on the way
  std::string authorization{};         // value of that header, for the host of `url` alone
  // Body of a PUT, POST or PATCH: copies what lies at `offset` into all of the span.
  uint64_t body_bytes = 0;
  std::function<base::Result<void>(uint64_t offset, std::span<std::byte>)> body{};
  std::string unix_socket{};  // a path to connect to in place of the host's address
  bool direct = false;        // no proxy, whatever the environment says
  // Who has to be able to reach what is connected to, from the beginning and behind redirects.
  Reach lowest_reach = Reach::kAny;
  int connect_timeout_ms = 5000;              // name look-up, connection and TLS together
  int stall_timeout_s = 30;                   // no byte for so long ends the request; 0: waits on
  const std::atomic<bool>* cancel = nullptr;  // seen within a second
};

// What the final answer says before its body, whatever its status.
struct HttpHead {
  int status = 0;
  std::string url{};                       // that answered
  std::optional<HttpRange> range{};        // of a 206, as its Content-Range says
  uint64_t total_bytes = 0;                // of the whole resource; 0 when not told
  std::string etag{};                      // empty when there is none, or only a weak one
  std::optional<int64_t> retry_after_s{};  // as it asks for
  std::vector<std::pair<std::string, std::string>> headers{};  // names in lower case
  std::string error_text{};  // the beginning of the body of what is not 2xx

  bool ok() const { return status >= 200 && status < 300; }
  // The first header of that name, which is in lower case; empty when there is none.
  std::string_view header(std::string_view name) const;
};

// Of an answer with a status of 2xx: head once, then each piece. An error returned ends the request
// and is passed on.
struct HttpSink {
  std::function<base::Result<void>(const HttpHead&)> head{};
  std::function<base::Result<void>(std::span<const std::byte>)> body{};
};

// Requests that run at once and share connections. Not for several threads.
class HttpPool {
 public:
  HttpPool();
  ~HttpPool();  // ends what still runs, without a word
  HttpPool(const HttpPool&) = delete;
  HttpPool& operator=(const HttpPool&) = delete;

  // Called from wait() when the request has ended; its head, or why there is no whole answer:
  // kInvalidArgument (no such URL, http where it is not allowed, or who answers https by http),
  // kCorrupt (a redirect that is
  // not followed), kNetwork (no connection, an answer cut short, a stall), kCancelled, kUnsupported
  // (no HTTP in this build), and whatever the sink returns.
  using Done = std::function<void(base::Result<HttpHead>)>;
  void start(HttpRequest request, HttpSink sink, Done done);
  // Runs what is under way, for at most so long or until a request ends.
  void wait(int timeout_ms);
  size_t running() const;
  // Ends all that runs; `done` is not called for it.
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One request to its end. Errors: as HttpPool::Done; every status is an answer.
base::Result<HttpHead> http_request(HttpRequest request, HttpSink sink);

// The error of an answer whose status is not what was wanted, with what the server says of it:
// kNotFound for 404 and 410, else kNetwork.
base::Error status_error(const HttpHead& head);

// What `location` means in an answer of `url`; empty when it is no URL.
std::string absolute_url(const std::string& url, const std::string& location);
// "host" of a URL, in lower case; with ":port" where that is not the scheme's. Empty for no URL.
std::string url_host(const std::string& url);

}  // namespace puna::io
