// Regular expressions in Oniguruma's default syntax, as Hugging Face's library runs them: the
// general matcher for what split.h, which is quicker, does not know. Backtracking, with a limit
// (match.h). Read next: node.h, parser.cpp, compiler.cpp, matcher.cpp.
//
// What is not carried out is refused by name: \X \K \y, subexpression calls, absent operators,
// callouts, conditionals, back references without case, and letters without case that one character
// can stand for together.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/match.h"
#include "tokenizer/regex/char_set.h"

namespace puna::tokenizer {

class Regex {
 public:
  // Errors: kUnsupported with the expression, the place and what stands there.
  static base::Result<Regex> compile(std::string_view expression);

  // The leftmost match that begins at or after `from`; it may be empty.
  std::optional<Match> search(std::string_view text, size_t from) const;

 private:
  friend class RegexCompiler;
  friend class RegexMatcher;

  struct Step {
    enum Op : uint8_t {
      kSet,            // one character of set `a`
      kRepeatSet,      // least `b` to most `c` characters of set `a`, as `greed` says
      kFork,           // go on at `a`, later perhaps at `b`
      kJump,           // go on at `a`
      kSave,           // remember the place in register `a`
      kLoopGuard,      // go on at `b` instead when no text was passed since register `a` was saved
      kBackReference,  // the text between registers `a` and `a` + 1
      kLook,           // run the steps behind this one, to their kAccept; then go on at `a`
      kAtomic,         // the same; what they matched is passed
      kLineBegin,
      kLineEnd,
      kTextBegin,
      kTextEnd,
      kTextEndOrLine,
      kWordEdge,
      kSearchBegin,
      kAccept,
    } op;
    bool negated = false;
    bool behind = false;
    uint8_t greed = 0;  // 0 greedy, 1 lazy, 2 possessive
    uint32_t a = 0, b = 0, c = 0;
  };
  struct Set {
    uint64_t ascii[2] = {};
    CharSet set;
    bool contains(char32_t c) const {
      return c < 128 ? (ascii[c / 64] >> (c % 64) & 1) != 0 : set.contains(c);
    }
  };

  std::vector<Step> steps_;
  std::vector<Set> sets_;
  uint32_t n_registers_ = 0;
};

}  // namespace puna::tokenizer
