// Values as text: as Python prints them and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "chat/jinja/value.h"

namespace puna::chat::jinja {

std::string to_text(
    const Value& value);  // str(): "" for undefined, "None", "True", "1.0", "['a', {'b': 1}]"
std::string to_repr(const Value& value);   // repr(): strings quoted
std::string to_ascii(const Value& value);  // ascii(): repr() with other characters as escapes
// repr() with the keys of dicts sorted. Errors: kUnsupported for a value that grows too large.
base::Result<std::string> to_sorted_repr(const Value& value);
std::string float_text(double value);  // the shortest that reads back the same, as Python writes it

struct JsonStyle {
  std::optional<std::string> indent{};  // of each level; none: one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ascii = false;  // other characters as \u escapes
  bool sort_keys = false;
};
// json.dumps(). Errors: kInvalidArgument for what JSON cannot hold (undefined, functions, odd
// keys).
base::Result<std::string> to_json(const Value& value, const JsonStyle& style);

}  // namespace puna::chat::jinja
