#include "server/target.h"

#include <algorithm>

#include "base/hex.h"

namespace puna::server {
namespace {

// In a query, "+" is a space.
std::optional<std::string> decoded(std::string_view text, bool in_query) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const auto byte = base::hex_byte(text.substr(i + 1));
      if (!byte) return {};
      c = *byte;
      i += 2;
    } else if (c == '+' && in_query) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return {};
    out += c;
  }
  return out;
}

// Calls each(part) for the parts between separators; false when one of the calls is.
template <class Each>
bool split(std::string_view text, char separator, Each&& each) {
  for (;;) {
    const size_t end = text.find(separator);
    if (!each(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<Target> parse_target(std::string_view text) {
  if (const size_t scheme = text.find("://"); !text.starts_with('/') && scheme < text.size()) {
    text.remove_prefix(scheme + 3);
    const size_t path = text.find_first_of("/?");
    text = path == std::string_view::npos ? "/" : text.substr(path);
  }
  Target out;
  const size_t question = text.find('?');
  const std::string_view path = text.substr(0, question);
  const auto whole = decoded(path, /*in_query=*/false);
  if (!whole) return {};
  out.path = *whole;
  const auto add_segment = [&](std::string_view part) {
    auto segment = decoded(part, /*in_query=*/false);
    if (!segment) return false;
    out.segments.push_back(*std::move(segment));
    return true;
  };
  if (!split(path.substr(path.starts_with('/') ? 1 : 0), '/', add_segment)) return {};
  if (question == std::string_view::npos) return out;
  const auto add_pair = [&](std::string_view part) {
    if (part.empty()) return true;
    const size_t equals = part.find('=');
    const auto name = decoded(part.substr(0, equals), /*in_query=*/true);
    const auto value = decoded(equals == std::string_view::npos ? "" : part.substr(equals + 1),
                               /*in_query=*/true);
    if (!name || !value) return false;
    out.query.emplace_back(*name, *value);
    return true;
  };
  if (!split(text.substr(question + 1), '&', add_pair)) return {};
  return out;
}

std::string host_of(std::string_view authority) {
  std::string_view host = authority;
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else if (std::ranges::count(host, ':') == 1) {
    host = host.substr(0, host.find(':'));
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string out(host);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

}  // namespace puna::server
