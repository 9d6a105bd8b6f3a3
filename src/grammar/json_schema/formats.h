// The formats of strings that are made, as regular expressions. Source: the specifications that
// JSON Schema 2020-12, validation, section 7.3 names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace puna::grammar {

struct Format {
  std::string_view name;
  std::string expression;  // of the whole text
  // Some texts of the format are never made; which, is in `about`.
  bool in_part = false;
  std::string_view about;
};

std::span<const Format> formats();
// Null for a format that only annotates.
const Format* find_format(std::string_view name);

// The rows as a table in Markdown.
std::string formats_as_markdown();

}  // namespace puna::grammar
