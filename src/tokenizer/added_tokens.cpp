#include "tokenizer/added_tokens.h"

#include <algorithm>

#include "tokenizer/regex/char_set.h"
#include "tokenizer/white_space.h"

namespace puna::tokenizer {

namespace {

bool is_word(char32_t code_point) {
  static const CharSet kWord = CharSet::named("rust:word").value_or(CharSet());
  return kWord.contains(code_point);
}

}  // namespace

bool AddedTokens::place(int32_t id, std::string_view text, size_t from, Span& span) const {
  if (rules_.empty()) return true;
  const auto it = rules_.find(id);
  if (it == rules_.end()) return true;
  const TokenRules& rules = it->second;
  if (rules.single_word) {
    const size_t before =
        span.begin - (span.begin == 0 ? 0 : base::utf8_previous_bytes(text, span.begin));
    if (span.begin > 0 && is_word(base::utf8_next(text, before).code_point)) return false;
    if (span.end < text.size() && is_word(base::utf8_next(text, span.end).code_point)) return false;
  }
  if (rules.left_spaces)
    span.begin = std::max(from, strip_right(text.substr(0, span.begin)).size());
  if (rules.right_spaces) span.end = text.size() - strip_left(text.substr(span.end)).size();
  return true;
}

}  // namespace puna::tokenizer
