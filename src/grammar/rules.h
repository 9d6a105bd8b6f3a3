// Inside grammar/: a compiled Grammar. The right sides of all rules stand one after the other as
// slots; a place in a rule is the index of a slot. Read next: chart.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grammar/expression.h"
#include "grammar/grammar.h"
#include "grammar/lexeme.h"

namespace puna::grammar {

class Grammar {
 public:
  enum class Kind : uint8_t {
    kLexeme,  // `id` comes next
    kRule,    // likewise
    kRepeat,  // `id`, a rule or a lexeme, least to most times, is all of the rule; never left
    kEnd,     // of the rule
  };
  // What a slot waits for: lexemes are even, rules odd.
  static constexpr uint32_t kNothing = 0xFFFFFFFF;
  static constexpr uint32_t lexeme_code(uint32_t id) { return id * 2; }
  static constexpr uint32_t rule_code(uint32_t id) { return id * 2 + 1; }

  struct Slot {
    Kind kind = Kind::kEnd;
    bool nullable = false;     // what it waits for matches the empty text
    uint32_t rule = 0;         // whose right side it is in
    uint32_t code = kNothing;  // what it waits for
    uint32_t least = 0, most = 0;
  };
  struct Rule {
    uint32_t first = 0, end = 0;  // of starts
    bool nullable = false;
  };
  struct LexemeUse {
    Lexeme lexeme;
    ByteSet follow;  // what may come right behind it, at most
    // Of the automaton and `follow`: equal ones have equal masks.
    std::array<uint64_t, 2> fingerprint{};
  };

  const Slot& slot(uint32_t id) const { return slots_[id]; }
  const Rule& rule(uint32_t id) const { return rules_[id]; }
  std::span<const uint32_t> starts(const Rule& rule) const {
    return std::span(starts_).subspan(rule.first, rule.end - rule.first);
  }
  const LexemeUse& lexeme(uint32_t id) const { return lexemes_[id]; }
  uint32_t n_rules() const { return static_cast<uint32_t>(rules_.size()); }
  uint32_t n_lexemes() const { return static_cast<uint32_t>(lexemes_.size()); }
  uint32_t start() const { return start_; }
  const Limits& limits() const { return limits_; }
  // Equal grammars have equal ones.
  uint64_t fingerprint() const { return fingerprint_; }
  size_t size_bytes() const;

 private:
  friend class GrammarCompiler;
  std::vector<Slot> slots_;
  std::vector<uint32_t> starts_;  // first slots of right sides
  std::vector<Rule> rules_;
  std::vector<LexemeUse> lexemes_;
  uint32_t start_ = 0;
  Limits limits_;
  uint64_t fingerprint_ = 0;
};

}  // namespace puna::grammar
