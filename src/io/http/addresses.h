// Who can reach an address of the internet protocols.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace puna::io {

// In the order of who can: a redirect goes to no address that fewer can reach than the one it comes
// from.
enum class Reach : uint8_t {
  kAny,  // link-local, where clouds keep their secrets (169.254.169.254), and what is no address
  kMachine,  // loopback
  kNetwork,  // private networks
  kPublic,
};

Reach reach_of(const sockaddr* address);
// Of an address as text; kPublic for what is no address but a name.
Reach reach_of_text(const std::string& text);

}  // namespace puna::io
