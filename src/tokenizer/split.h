// Split expressions: the regular expressions that tokenizer.json files use to cut text into words,
// compiled to a small backtracking matcher over classes of code points. Not a general regex engine:
// what is not listed here does not compile.
//
//   a|b     alternatives, the first that matches wins         [...] [^...]   a set, with ranges
//   \p{L}   Lu Ll Lt Lm Lo L M N P S                          \s \S          White_Space, or not
//   ? * + {m,n} {m} {m,}   greedy repeats of one character or set; with another + they give nothing
//   back
//   (?!x)             not before a character of x             $              before a line end or
//   the end of all
//   (?:a|b)  (?i:a|b)  alternatives of plain characters, optionally without case; may be followed
//   by ?
//
// Text need not be valid UTF-8: a stray byte is one character of no class. A long expression does
// not compile either, which regex/regex.h may know; both end at the same limit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/match.h"

namespace puna::tokenizer {

class SplitExpression {
 public:
  // Errors: kInternal with the expression and the place that is not understood (the expressions are
  // part of Puna).
  static base::Result<SplitExpression> compile(std::string_view expression);

  // The leftmost match that begins at or after `from`; it is not empty. The end of `text` is the
  // end of all.
  std::optional<Match> search(std::string_view text, size_t from) const;

 private:
  friend class SplitCompiler;

  // A set of characters is one bit of a mask, so that one table look-up says to which of the sets a
  // character belongs.
  using SetMask = uint32_t;
  static constexpr int kMaxSets = 32;
  // Of one alternative; the matcher calls itself for each.
  static constexpr size_t kMaxItems = 100;

  struct Item {
    enum Kind : uint8_t { kRepeat, kNotBefore, kLineEnd, kGroup } kind = kRepeat;
    bool possessive = false;  // a repeat that gives nothing back
    SetMask set = 0;          // kRepeat, kNotBefore: the bit of the set
    uint32_t least = 1, most = 1;
    uint32_t group = 0;  // kGroup: index into groups_
  };
  struct Branch {
    std::vector<Item> items;
    SetMask first = 0;  // sets that a match may begin with
  };
  // Code points above U+007F that a set names one by one, as an exception from what their class
  // says.
  struct Exception {
    char32_t low, high;
    SetMask set;
    bool member;
  };

  SetMask sets_at(std::string_view text, size_t at, uint32_t& bytes) const;
  size_t match_items(std::span<const Item> items, std::string_view text, size_t at,
                     uint64_t& steps) const;
  size_t match_group(std::span<const Item> items, std::string_view text, size_t at,
                     uint64_t& steps) const;

  std::array<SetMask, 128> ascii_{};
  std::array<SetMask, 16> classes_{};  // by CharClass
  std::vector<Exception> exceptions_;
  std::vector<std::vector<std::vector<SetMask>>> groups_;  // group, alternative, character
  std::vector<Branch> branches_;
};

// How many expressions may cut a text one after another: for_each_word calls itself for each.
inline constexpr size_t kMostExpressions = 32;

// Calls word(std::string_view) for each piece of the text, in order; the pieces together are the
// text. The first expression cuts the text into its matches and what lies between them, each next
// one cuts those pieces further.
template <class Word>
void for_each_word(std::span<const SplitExpression> expressions, std::string_view text,
                   Word&& word) {
  if (text.empty()) return;
  if (expressions.empty()) return word(text);
  const auto rest = expressions.subspan(1);
  size_t gap = 0;
  while (const auto match = expressions[0].search(text, gap)) {
    for_each_word(rest, text.substr(gap, match->begin - gap), word);
    for_each_word(rest, text.substr(match->begin, match->end - match->begin), word);
    gap = match->end;
  }
  for_each_word(rest, text.substr(gap), word);
}

}  // namespace puna::tokenizer
