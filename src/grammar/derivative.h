// Derivatives of expressions: what is left to match after a byte. Source: J. A. Brzozowski,
// Derivatives of Regular Expressions, 1964.
//
// A part that is repeated many times is counted where that can be: its derivative holds a kCounted,
// the repetitions of which are as many less as a counter beside the state says. So one state stands
// for every count, and what depends on it is asked for with a Guard.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "grammar/expression.h"

namespace puna::grammar {

// Bytes that no set in the expression tells apart are one class.
struct ByteClasses {
  std::array<uint8_t, 256> of{};  // class of each byte
  std::vector<uint8_t> any;       // a byte of each class
};
// What an expression is made of.
struct Survey {
  ByteClasses classes;
  uint32_t n_nodes = 0;
  bool has_logic = false;        // intersections or complements in it
  std::vector<uint32_t> counts;  // of its repetitions, in order
};

class Derivatives {
 public:
  // What the counter allows: one repetition more, and none more.
  struct Guard {
    bool more = true;
    bool leave = true;
  };
  // The counter of an expression that is a state.
  struct Counter {
    uint32_t least = 0, most = 0;  // 0, 0: none
    CounterStep step{};            // how it comes from the one before
    bool several = false;          // no one counter will do
  };

  explicit Derivatives(Expressions& expressions) : e_(expressions) {}

  Expressions& expressions() { return e_; }
  // From now on repetitions of more than this are counted; kUnbounded: none are.
  void count_from(uint32_t count) { counted_from_ = count; }

  Expression derive(Expression of, uint8_t byte, Guard guard);
  bool nullable(Expression of, Guard guard) const;
  // The bytes that something may begin with, whatever the counter says.
  ByteSet first_bytes(Expression of) const;
  Counter counter(Expression of) const;
  // The same with counters that count from here.
  Expression settled(Expression of);
  Survey survey(Expression of);

 private:
  using Kind = Expressions::Kind;
  uint32_t derive(uint32_t id);
  uint32_t derive_repeat(uint32_t id);

  Expressions& e_;
  uint32_t counted_from_ = kUnbounded;
  uint8_t byte_ = 0;
  Guard guard_;
  // What was derived by this byte and guard, by id.
  std::vector<uint32_t> known_, known_in_;
  uint32_t turn_ = 0;
};

}  // namespace puna::grammar
