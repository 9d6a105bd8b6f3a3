#include "server/guard.h"

#include <algorithm>

#include "server/target.h"
#include "store/sha256.h"

namespace puna::server {
namespace {

bool is_loopback_name(std::string_view host) {
  const bool is_ipv4 =
      host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host.ends_with(".localhost") || host == "::1" || is_ipv4;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

// In a time that depends on the length of what was given only.
bool same_key(std::string_view given, std::string_view key) {
  unsigned difference = given.size() == key.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    const char expected = key.empty() ? '\0' : key[i % key.size()];
    difference |= static_cast<unsigned char>(given[i] ^ expected);
  }
  return difference == 0;
}

// The authority of "http://localhost:5173"; empty for "null" and other things.
std::string_view authority_of(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? std::string_view() : origin.substr(scheme + 3);
}

}  // namespace

bool Guard::knows_host(const Incoming& incoming) const {
  if (incoming.peer.is_unix) return true;
  const std::string* header = incoming.http.header("host");
  if (!header) return incoming.http_1_0;
  const std::string host = host_of(*header);
  if (is_loopback_name(host) || host == lower(incoming.peer.local)) return true;
  const auto is_it = [&](std::string_view name) { return name == "*" || host_of(name) == host; };
  return std::ranges::any_of(options_.hosts, is_it) ||
         std::ranges::any_of(options_.listen, [&](const Address& address) {
           return !address.is_unix() && address.host != "*" && host_of(address.host) == host;
         });
}

void Guard::set_keys(const std::vector<std::string>& keys) {
  const std::lock_guard lock(mutex_);
  std::vector<Key> next;
  for (const std::string& text : keys) {
    const auto known = std::ranges::find(keys_, text, &Key::text);
    if (known == keys_.end()) {
      next.push_back({text, {n_numbers_++, store::sha256_of(text).hex()}});
    } else {
      next.push_back(*known);
    }
  }
  keys_ = std::move(next);
}

bool Guard::has_several_keys() const {
  const std::lock_guard lock(mutex_);
  return keys_.size() > 1;
}

std::optional<Guard::Client> Guard::client_of(const api::HttpRequest& request) const {
  const std::lock_guard lock(mutex_);
  if (keys_.empty()) return Client();
  std::string_view given;
  if (const std::string* header = request.header("authorization")) {
    constexpr std::string_view kBearer = "bearer ";
    if (lower(header->substr(0, kBearer.size())) == kBearer)
      given = std::string_view(*header).substr(kBearer.size());
  }
  if (const std::string* header = request.header("x-api-key"); header && given.empty())
    given = *header;
  const Key* found = nullptr;
  for (const Key& key : keys_) {
    if (same_key(given, key.text) && !given.empty()) found = &key;
  }
  return found ? std::optional(found->client) : std::nullopt;
}

Guard::Origin Guard::origin_of(const api::HttpRequest& request) const {
  const std::string* origin = request.header("origin");
  if (!origin) {
    const std::string* site = request.header("sec-fetch-site");
    return site && *site == "cross-site" ? Origin::kForeign : Origin::kNone;
  }
  const std::string_view authority = authority_of(*origin);
  const std::string* host = request.header("host");
  if (host && !authority.empty() && lower(authority) == lower(*host)) return Origin::kAllowed;
  const bool named = std::ranges::any_of(options_.origins, [&](const std::string& allowed) {
    if (allowed == "*") return true;
    if (allowed == "localhost") return !authority.empty() && is_loopback_name(host_of(authority));
    return lower(allowed) == lower(*origin);
  });
  return named ? Origin::kAllowed : Origin::kForeign;
}

std::vector<std::pair<std::string, std::string>> Guard::cors_headers(
    const api::HttpRequest& request) const {
  const std::string* origin = request.header("origin");
  if (!origin) return {};
  std::vector<std::pair<std::string, std::string>> out = {{"Vary", "Origin"}};
  if (origin_of(request) != Origin::kAllowed) return out;
  out.emplace_back("Access-Control-Allow-Origin", *origin);
  out.emplace_back("Access-Control-Expose-Headers", "X-Request-Id");
  if (options_.cors_credentials) out.emplace_back("Access-Control-Allow-Credentials", "true");
  return out;
}

bool Guard::is_preflight(const api::HttpRequest& request) {
  return request.method == "OPTIONS" && request.header("origin") &&
         request.header("access-control-request-method");
}

api::HttpReply Guard::preflight(const api::HttpRequest& request) const {
  api::HttpReply out{.status = 204, .content_type = "", .body = ""};
  out.headers.emplace_back("Access-Control-Allow-Methods", options_.cors_methods);
  const std::string* wanted = request.header("access-control-request-headers");
  if (!options_.cors_headers.empty()) {
    out.headers.emplace_back("Access-Control-Allow-Headers", options_.cors_headers);
  } else if (wanted) {
    out.headers.emplace_back("Access-Control-Allow-Headers", *wanted);
  }
  if (request.header("access-control-request-private-network"))
    out.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  out.headers.emplace_back("Access-Control-Max-Age", "600");
  return out;
}

bool is_from_browser(const api::HttpRequest& request) {
  return request.header("origin") || request.header("sec-fetch-site");
}

bool is_json(std::string_view content_type) {
  std::string type = lower(content_type.substr(0, content_type.find(';')));
  while (type.ends_with(' ')) type.pop_back();
  return type == "application/json" || type.ends_with("+json");
}

}  // namespace puna::server
