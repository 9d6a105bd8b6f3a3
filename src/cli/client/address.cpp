#include "cli/client/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "cli/options.h"

namespace puna::cli {

using base::ErrorCode;
using base::Result;

namespace {

constexpr uint16_t kPort = 8080;
constexpr uint16_t kOllamaPort = 11434;

// One that is empty counts as not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string connectable(std::string_view host) {
  if (host.empty() || host == "0.0.0.0" || host == "*") return "127.0.0.1";
  if (host == "[::]") return "[::1]";
  return std::string(host);
}

// The first of several that a server listens on.
std::string_view first_of(std::string_view list) { return list.substr(0, list.find(',')); }

}  // namespace

Result<ServerAddress> parse_server(std::string_view option, std::string_view text, uint16_t port) {
  const auto refuse = [&](std::string_view why) {
    return base::fail(ErrorCode::kUsage, fmt::format("{} is \"{}\", but {}.", option, text, why));
  };
  ServerAddress out{.url = {}, .unix_socket = {}, .from = std::string(option)};
  if (text.starts_with('/') || text.ends_with(".sock")) {
    out.url = "http://localhost";
    out.unix_socket = text;
    return out;
  }
  std::string_view rest = text, scheme = "http";
  if (const size_t end = text.find("://"); end != std::string_view::npos) {
    scheme = text.substr(0, end);
    rest.remove_prefix(end + 3);
    if (scheme != "http" && scheme != "https") return refuse("a server speaks http or https");
    port = scheme == "http" ? 80 : 443;
  }
  const std::string_view authority = rest.substr(0, rest.find('/'));
  std::string_view path = rest.substr(authority.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  if (text.find_first_of(" \t\r\n?#@\\") != std::string_view::npos)
    return refuse("an address, a port and a path are what it may have");
  const size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos &&
                        (authority.find(':') == colon || authority[colon - 1] == ']');
  std::string_view host = authority;
  if (has_port) {
    host = authority.substr(0, colon);
    PUNA_TRY_CONTEXT(const int given,
                     parse_number<int>(option, authority.substr(colon + 1), {1, 65535}),
                     fmt::format("While reading the port of \"{}\"", text));
    port = static_cast<uint16_t>(given);
  }
  // An address of version 6 may stand without brackets where it has no port.
  const bool bare = !host.starts_with('[') && host.find(':') != std::string_view::npos;
  const std::string bracketed = bare ? fmt::format("[{}]", host) : std::string(host);
  out.url = fmt::format("{}://{}:{}{}", scheme, connectable(bracketed), port, path);
  return out;
}

Result<std::vector<ServerAddress>> server_addresses(const std::string& host) {
  std::vector<ServerAddress> out;
  std::optional<uint16_t> port;
  if (const std::string text = variable("PUNA_PORT"); !text.empty()) {
    PUNA_TRY(const int given, parse_number<int>("PUNA_PORT", text, {1, 65535}));
    port = static_cast<uint16_t>(given);
  }
  if (!host.empty()) {
    PUNA_TRY(out.emplace_back(), parse_server("--host", host, port.value_or(kPort)));
    return out;
  }
  if (const std::string own = variable("PUNA_HOST"); !own.empty()) {
    PUNA_TRY(out.emplace_back(), parse_server("PUNA_HOST", first_of(own), port.value_or(kPort)));
    return out;
  }
  if (port) {
    PUNA_TRY(out.emplace_back(),
             parse_server("PUNA_PORT", fmt::format("127.0.0.1:{}", *port), *port));
    return out;
  }
  if (const std::string ollama = variable("OLLAMA_HOST"); !ollama.empty()) {
    PUNA_TRY(out.emplace_back(), parse_server("OLLAMA_HOST", ollama, kOllamaPort));
    return out;
  }
  // The one that a server of Puna takes first; at the other Ollama's may be.
  for (const uint16_t port : {kPort, kOllamaPort}) {
    out.push_back({.url = fmt::format("http://127.0.0.1:{}", port), .unix_socket = {}, .from = {}});
  }
  return out;
}

}  // namespace puna::cli
