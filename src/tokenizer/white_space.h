// White space at the ends of text: all that has the property White_Space.
#pragma once

#include <string_view>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace puna::tokenizer {

inline bool is_white_space(char32_t code_point) {
  const CharClass c = class_of(code_point);
  return c == CharClass::kSeparator || c == CharClass::kSpaceControl;
}

inline std::string_view strip_left(std::string_view text) {
  while (!text.empty()) {
    const base::Utf8Unit unit = base::utf8_next(text, 0);
    if (!is_white_space(unit.code_point)) break;
    text.remove_prefix(unit.bytes);
  }
  return text;
}

inline std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = base::utf8_previous_bytes(text, text.size());
    if (!is_white_space(base::utf8_next(text, text.size() - bytes).code_point)) break;
    text.remove_suffix(bytes);
  }
  return text;
}

}  // namespace puna::tokenizer
