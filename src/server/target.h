// The target of a request line: a path and a query, percent-encoded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace puna::server {

struct Target {
  std::string path;                                        // decoded
  std::vector<std::string> segments;                       // of the path, split before decoding
  std::vector<std::pair<std::string, std::string>> query;  // decoded
};

// In origin form ("/a?b=c") or absolute form ("http://host/a"). None: an escape is broken, or a
// character is no text.
std::optional<Target> parse_target(std::string_view text);

// Of "name:8080", "[::1]:8080" or "::1": the name, in lower case, without brackets.
std::string host_of(std::string_view authority);

}  // namespace puna::server
