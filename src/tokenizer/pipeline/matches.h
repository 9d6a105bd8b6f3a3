// Inside pipeline/: where a pattern matches a text, and what becomes of the pieces.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/utf8.h"
#include "tokenizer/pipeline/pipeline.h"
#include "tokenizer/regex/regex.h"
#include "tokenizer/split.h"

namespace puna::tokenizer {

struct MatchSpan {
  size_t begin, end;
  bool match;
};

// A string or an expression, as Split and Replace take them.
class Pattern {
 public:
  // Errors: kUnsupported for an expression that is not known.
  static base::Result<Pattern> compile(std::string_view text, bool is_expression);
  // The matches and what lies between them, in order; a match may be empty.
  std::vector<MatchSpan> spans(std::string_view text) const;

 private:
  std::variant<std::string, SplitExpression, Regex> what_;
};

// The spans of single characters that `is` holds for, and of what lies between them.
template <class Is>
std::vector<MatchSpan> spans_of(std::string_view text, Is&& is) {
  std::vector<MatchSpan> out;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const base::Utf8Unit unit = base::utf8_next(text, at);
    const size_t next = at + unit.bytes;
    if (is(unit.code_point)) {
      if (begin < at) out.push_back({begin, at, false});
      out.push_back({at, next, true});
      begin = next;
    }
    at = next;
  }
  if (begin < text.size()) out.push_back({begin, text.size(), false});
  return out;
}

// The pieces that a behaviour leaves: spans of the text, without the empty ones.
std::vector<std::pair<size_t, size_t>> pieces_of(const std::vector<MatchSpan>& spans,
                                                 SplitBehavior behavior);

}  // namespace puna::tokenizer
