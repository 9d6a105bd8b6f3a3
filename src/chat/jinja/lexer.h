// Cuts a template into text and tags, and tags into tokens. White space control happens here, as
// Jinja does it with trim_blocks and lstrip_blocks. Read next: parser.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace puna::chat::jinja {

struct Position {
  int line = 1;    // from 1
  int column = 1;  // from 1, in code points
};

// An error about a place in the template: "Line 3, column 7: ...".
std::unexpected<base::Error> fail_at(Position at, base::ErrorCode code, std::string_view what);

struct Token {
  enum class Kind {
    kText,         // `text` between tags, trimmed
    kOutputBegin,  // {{
    kOutputEnd,    // }}
    kBlockBegin,   // {%
    kBlockEnd,     // %}
    kName,
    kString,    // `text` is its value
    kInteger,   // `integer`
    kFloat,     // `number`
    kOperator,  // `text`, such as "//" or "["
    kEnd,       // of the template
  };
  Kind kind = Kind::kEnd;
  Position at{};
  std::string text{};
  int64_t integer = 0;
  double number = 0;

  bool is_name(std::string_view name) const { return kind == Kind::kName && text == name; }
  bool is_operator(std::string_view op) const { return kind == Kind::kOperator && text == op; }
};

// The tokens of `source`, kEnd last. Errors: kInvalidArgument with line and column.
base::Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace puna::chat::jinja
