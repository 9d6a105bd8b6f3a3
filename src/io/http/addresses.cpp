#include "io/http/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

namespace puna::io {
namespace {

struct Network {
  uint32_t address;
  int n_bits;
  Reach reach;
};
// Source: RFC 6890.
constexpr Network kNetworks[] = {
    {0x00000000, 8, Reach::kAny},       // this network
    {0xa9fe0000, 16, Reach::kAny},      // link-local
    {0xe0000000, 3, Reach::kAny},       // multicast and reserved
    {0x7f000000, 8, Reach::kMachine},   // loopback
    {0x0a000000, 8, Reach::kNetwork},   // private
    {0xac100000, 12, Reach::kNetwork},  // private
    {0xc0a80000, 16, Reach::kNetwork},  // private
    {0x64400000, 10, Reach::kNetwork},  // shared, of carriers
};

Reach reach_of_v4(uint32_t address) {
  for (const Network& network : kNetworks) {
    if ((address ^ network.address) >> (32 - network.n_bits) == 0) return network.reach;
  }
  return Reach::kPublic;
}

// Networks of IPv6 whose addresses hold one of IPv4, to which packets may get.
struct Wrapping {
  const char* prefix;
  size_t n_bytes;
  size_t at;  // the byte where the inner one begins
};
// Source: RFC 4291, section 2.5.5; RFC 6052, section 2.1; RFC 3056, section 2.
constexpr Wrapping kWrappings[] = {
    {"\0\0\0\0\0\0\0\0\0\0\xff\xff", 12, 12},
    {"\0\x64\xff\x9b\0\0\0\0\0\0\0\0", 12, 12},
    {"\x20\x02", 2, 2},
};

Reach reach_of_v6(const in6_addr& address) {
  const uint8_t* bytes = address.s6_addr;
  if (IN6_IS_ADDR_LOOPBACK(&address)) return Reach::kMachine;
  for (const Wrapping& wrapping : kWrappings) {
    if (std::memcmp(bytes, wrapping.prefix, wrapping.n_bytes) != 0) continue;
    uint32_t inner = 0;
    std::memcpy(&inner, bytes + wrapping.at, sizeof inner);
    return reach_of_v4(ntohl(inner));
  }
  if (IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_MULTICAST(&address) ||
      IN6_IS_ADDR_LINKLOCAL(&address))
    return Reach::kAny;
  if ((bytes[0] & 0xfe) == 0xfc) return Reach::kNetwork;  // unique local
  return Reach::kPublic;
}

}  // namespace

Reach reach_of(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return reach_of_v4(ntohl(v4.sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    return reach_of_v6(v6.sin6_addr);
  }
  return Reach::kAny;
}

Reach reach_of_text(const std::string& text) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return reach_of_v4(ntohl(v4.s_addr));
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) return reach_of_v6(v6);
  return Reach::kPublic;
}

}  // namespace puna::io
