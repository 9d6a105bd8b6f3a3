// Cuts a Go template into text and actions, and actions into tokens, as text/template/parse does.
// Read next: parser.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace puna::chat::go_template {

struct Token {
  enum class Kind {
    kText,      // `text` between actions, trimmed; never empty
    kBegin,     // {{
    kEnd,       // }}
    kName,      // a keyword, function, true, false or nil
    kField,     // .Name: `text` without the dot
    kVariable,  // $name: `text` without the dollar sign
    kDot,       // . alone
    kString,    // `text` is its value
    kNumber,    // `text` as written; also characters, as the number they stand for
    kSign,      // ( ) | , = :=
    kEof,
  };
  Kind kind = Kind::kEof;
  int line = 1;
  bool spaced = false;  // white space or the begin of the action is before it
  std::string text{};

  bool is_sign(std::string_view sign) const { return kind == Kind::kSign && text == sign; }
  bool is_name(std::string_view name) const { return kind == Kind::kName && text == name; }
};

// The tokens of `source`, kEof last. Errors: kInvalidArgument with the line.
base::Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace puna::chat::go_template
