// Where a running server may be: --host, PUNA_HOST, OLLAMA_HOST, or the addresses that `puna serve`
// takes by itself. Read next: client.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace puna::cli {

struct ServerAddress {
  std::string url;          // "http://127.0.0.1:11434", no "/" at its end
  std::string unix_socket;  // the path that is connected to; empty: the host of `url` is
  std::string from;         // "--host", a variable; empty: nobody named it

  // For messages: the URL or the path.
  const std::string& text() const { return unix_socket.empty() ? url : unix_socket; }
};

// "127.0.0.1:8080", "[::1]", "https://host/prefix", "name.sock": what stands without a port is at
// `port`, or at the scheme's where there is one. An address to listen on at all interfaces is this
// machine. Errors: kUsage naming `option`.
base::Result<ServerAddress> parse_server(std::string_view option, std::string_view text,
                                         uint16_t port);

// The addresses to try, in this order: `host` alone where it is not empty, else that of the first
// variable that is set, else the default ones. Errors: those of parse_server().
base::Result<std::vector<ServerAddress>> server_addresses(const std::string& host);

}  // namespace puna::cli
