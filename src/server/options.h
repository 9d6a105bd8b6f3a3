// What a server is told before it listens.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "server/page/page_file.h"

namespace puna::server {

// An IP address or a name and a port (0: any that is free), or the path of a Unix socket, which
// ends in ".sock" and has no port.
struct Address {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;

  bool is_unix() const { return host.ends_with(".sock"); }
};

// What a client may take, before anybody looks at what it says.
struct Limits {
  size_t header_bytes = 16 << 10;
  std::chrono::milliseconds header{10'000};      // from its first byte to its last
  size_t body_bytes = 64 << 20;                  // --max-body
  std::chrono::milliseconds body_pause{30'000};  // between two pieces of a body
  std::chrono::milliseconds idle{75'000};        // a connection without a request
  std::chrono::milliseconds timeout{3600'000};  // of a whole body, and of a write that stands still
};

// Streams that clients may read on in after they were cut off (stream_store.h).
struct StreamOptions {
  size_t ring_bytes = 4 << 20;              // the last of each
  std::chrono::milliseconds kept{300'000};  // after the last byte
  uint32_t most = 256;                      // that have ended; the oldest go first
  size_t most_bytes = 256 << 20;            // of all
  std::function<std::chrono::steady_clock::time_point()> now = {};  // for tests; null: the clock
};

struct Options {
  std::vector<Address> listen = {Address{}};
  bool reuse_port = false;
  // PEM files; both or none.
  std::string certificate_file, key_file;
  // In front of every path, such as "/llm"; empty: none.
  std::string api_prefix;

  uint32_t n_threads = 0;  // that read requests (--threads-http); 0: as many as there are cores
  uint32_t queue = 512;    // texts that wait or run; requests that wait to be read
  Limits limits;
  std::chrono::milliseconds ping{30'000};  // of streams in which nothing happens; 0: never

  StreamOptions streams;

  std::vector<std::string> api_keys;  // empty: everybody is let in
  // Names that a Host header may have besides loopback and what is listened on; "*": any.
  std::vector<std::string> hosts;
  // Origins whose pages may read answers: "localhost" (loopback at any port), "*", or origins as
  // browsers write them.
  std::vector<std::string> origins = {"localhost"};
  std::string cors_methods = "GET, POST, DELETE, OPTIONS";
  std::string cors_headers;  // empty: those that a browser asks for
  bool cors_credentials = false;

  // Its only client is another server of ours, over a Unix socket, which has let requests in and
  // says whose turns they take. It is told what each has cost (run.h), and logs them itself.
  bool behind_server = false;

  // Of the web page, which is answered where no route is, and to browsers at "/"; none: there is
  // no page (--no-web). They outlive the server.
  std::span<const PageFile> page;

  // What is answered with 501 where it is off: /metrics, /slots, and changes of /props.
  bool metrics = true;
  bool slots = true;
  bool props = false;
  // Pictures and sounds that requests name by their addresses are fetched (media_fetch.h).
  bool media_url = false;
  // Gets a line for each request as JSON, besides the one in the log; any thread, one at a time.
  std::function<void(const base::Json&)> on_request;
};

}  // namespace puna::server
