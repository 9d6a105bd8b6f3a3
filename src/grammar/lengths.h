// Texts of an expression that have a bounded number of characters, such as those of a pattern with
// a maxLength: one automaton with a counter in place of a state for each length. Read next:
// lengths.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "grammar/derivative.h"
#include "grammar/expression.h"
#include "grammar/limits.h"

namespace puna::grammar {

class Lexeme;

// An automaton whose edges count characters, all of whose states lead to an end. State 0 is the
// start.
struct LengthAutomaton {
  struct Edge {
    uint32_t to = 0;
    uint8_t cls = 0;
    bool begins = false;        // a character more
    bool needs_more = false;    // only while fewer than State::most are there
    bool needs_enough = false;  // only when State::least are there
  };
  struct State {
    std::vector<Edge> edges{};
    bool accepts = false;
    bool inside = false;            // characters may begin, or one has begun
    bool ends_when_enough = false;  // accepts only when State::least are there
    uint32_t least = 0, most = 0;   // most: kUnbounded where there is no bound
  };
  std::vector<State> states;
  // Not so: a few texts are left out whose length is nearly the most, since a state has one count
  // of each kind, and its edges may need several.
  bool exact = true;
};

// What is told apart by which lengths: the lexemes of bound.texts and bound.counted, neither of
// which has counters, the state of the latter in which characters begin, and with which bytes.
struct LengthParts {
  const Lexeme& texts;
  const Lexeme& counted;
  uint32_t between = 0;
  ByteSet first;
  const ByteClasses& classes;
};

// Nothing: it cannot be so, or has more states than `limits` say. Without states nothing matches.
// Errors: kInvalidArgument that names the time.
base::Result<std::optional<LengthAutomaton>> count_lengths(const LengthParts& parts,
                                                           const Expressions::LengthBound& bound,
                                                           const Limits& limits,
                                                           const Deadline& deadline);

}  // namespace puna::grammar
