// Lines of text no longer than a width, as Python's textwrap.wrap() makes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace puna::chat::jinja {

struct WrapStyle {
  int64_t width = 79;  // in characters, at least 1
  bool breaks_words = true;
  bool breaks_at_hyphens = true;
};

// White space inside of lines stays as it is; at their ends it goes.
std::vector<std::string> wrap(std::string_view text, const WrapStyle& style);

}  // namespace puna::chat::jinja
