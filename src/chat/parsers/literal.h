// Values as models write them in calls: Python and JSON literals, and Gemma's own.
#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"

namespace puna::chat {

// What quotes strings.
enum class LiteralStyle {
  kPython,  // ' or ", with backslash escapes; None True False, also null true false
  kGemma,   // <|"|>, without escapes; keys of objects may stand bare
};

// Reads values one after another. Nothing is consumed for what is no value.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, LiteralStyle style) : text_(text), style_(style) {}

  std::optional<base::Json> value();
  // The members of an object up to `close`, which is read too.
  std::optional<base::Json> members(char close);
  // A word of letters, digits, '_', '.' and '-', not starting with a digit; empty when there is
  // none.
  std::string_view word();
  bool skip(char c);  // after white space; false when another stands there
  bool skip(std::string_view literal);
  bool at_end();

 private:
  std::optional<base::Json> value(int depth);
  std::optional<base::Json> members(char close, int depth);
  std::optional<base::Json> list(char close, int depth);
  std::optional<base::Json> number();
  std::optional<std::string> string();
  std::optional<std::string> quoted(char quote);
  std::optional<std::string> key();
  bool escape(std::string& out);
  void skip_space();

  std::string_view text_;  // what is left
  LiteralStyle style_;
};

}  // namespace puna::chat
