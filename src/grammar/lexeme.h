// Lexeme: an expression as a deterministic automaton over bytes, whose states are derivatives. At
// most one counter stands beside a state; where one does not do, counts become states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/derivative.h"
#include "grammar/expression.h"
#include "grammar/limits.h"

namespace puna::grammar {

// Where in a lexeme a text is. State 0 is a text that cannot be completed.
struct LexemePlace {
  uint32_t state = 0;
  uint32_t count = 0;
  bool operator==(const LexemePlace&) const = default;
};

class Lexeme {
 public:
  static constexpr uint32_t kDead = 0, kStart = 1;

  // What a byte does in a state.
  struct Edge {
    uint32_t to : 27 = kDead;
    uint32_t step : 2 = 0;          // a CounterStep
    uint32_t needs_more : 1 = 0;    // only where the count is below State::most
    uint32_t needs_enough : 1 = 0;  // only where it is State::least or above
    CounterStep counter_step() const { return static_cast<CounterStep>(step); }
  };
  enum class Accept : uint8_t { kNever, kAlways, kWhenEnough };
  struct State {
    Accept accept = Accept::kNever;
    bool sparse = false;
    bool has_counter = false;
    bool all_need_more = false;    // its edges
    uint32_t least = 0, most = 0;  // of the counter
    uint32_t edges = 0;
    uint32_t n_edges = 0;  // that lead somewhere
    uint8_t n_kept = 0;    // of a sparse one: edges that are kept
    uint16_t n_bytes = 0;  // that lead somewhere
  };

  // Explores all states. `name` is said in errors, if it is not empty.
  // Errors: kInvalidArgument that names a limit; too_many_states is set if it is that of states. A
  // lexeme that nothing matches has a dead start.
  static base::Result<Lexeme> compile(Derivatives& derivatives, Expression of,
                                      std::string_view name, const Limits& limits,
                                      const Deadline& deadline, bool& too_many_states);

  bool nullable() const { return nullable_; }
  bool matches_nothing() const { return !nullable_ && !matches_some_; }
  // Whether a text that is not empty matches.
  bool matches_some() const { return matches_some_; }
  const State& state(uint32_t id) const { return states_[id]; }
  uint32_t n_states() const { return static_cast<uint32_t>(states_.size()); }
  bool has_counters() const { return has_counters_; }
  const ByteSet& first_bytes() const { return first_bytes_; }
  size_t size_bytes() const;
  // Calls each(word) with numbers that are the same for the same automaton.
  template <class Each>
  void for_each_word(Each&& each) const;

  Edge edge(uint32_t state, uint8_t byte) const {
    const State& from = states_[state];
    const uint32_t cls = class_of_[byte];
    if (!from.sparse) return edges_[from.edges + cls];
    for (uint32_t i = from.edges; i < from.edges + from.n_kept; ++i) {
      if (sparse_classes_[i] == cls) return sparse_[i];
    }
    return {};
  }
  LexemePlace step(LexemePlace from, uint8_t byte) const {
    const Edge by = edge(from.state, byte);
    if (by.needs_more != 0 && from.count >= states_[from.state].most) return {};
    if (by.needs_enough != 0 && from.count < states_[from.state].least) return {};
    return {by.to, by.counter_step() == CounterStep::kSame   ? from.count
                   : by.counter_step() == CounterStep::kNext ? from.count + 1
                                                             : 1};
  }
  // Whether any byte may come next; false for what ends here.
  bool goes_on(LexemePlace at) const {
    const State& state = states_[at.state];
    return state.n_edges > 0 && (!state.all_need_more || at.count < state.most);
  }
  // The byte that comes next if any does; nothing where several may.
  std::optional<uint8_t> only_byte(LexemePlace at) const;
  bool accepts(LexemePlace at) const {
    const State& state = states_[at.state];
    return state.accept == Accept::kAlways ||
           (state.accept == Accept::kWhenEnough && at.count >= state.least);
  }

 private:
  friend class LexemeCompiler;
  static base::Result<std::optional<Lexeme>> with_length(Derivatives& derivatives, Expression of,
                                                         const Limits& limits,
                                                         const Deadline& deadline);

  std::array<uint8_t, 256> class_of_{};
  bool nullable_ = false;
  bool matches_some_ = false;
  bool has_counters_ = false;
  ByteSet first_bytes_;
  std::vector<State> states_;
  std::vector<Edge> edges_;  // a row of all classes for a state that is not sparse
  std::vector<uint8_t> sparse_classes_;
  std::vector<Edge> sparse_;
};

template <class Each>
void Lexeme::for_each_word(Each&& each) const {
  const auto put = [&](Edge edge) {
    each(uint64_t{edge.to} << 4 | uint64_t{edge.step} << 2 | uint64_t{edge.needs_more} << 1 |
         edge.needs_enough);
  };
  for (const uint8_t cls : class_of_) each(cls);
  for (const State& state : states_) {
    each(uint64_t{state.least} << 32 | state.most);
    each(static_cast<uint64_t>(state.accept) << 33 | uint64_t{state.sparse} << 32 | state.edges);
    each(state.n_edges);
  }
  for (const Edge edge : edges_) put(edge);
  for (const uint8_t cls : sparse_classes_) each(cls);
  for (const Edge edge : sparse_) put(edge);
}

}  // namespace puna::grammar
