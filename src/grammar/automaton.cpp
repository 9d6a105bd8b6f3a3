#include "grammar/expression.h"

namespace puna::grammar {

// Each state is a node, all of one automaton one after the other, which its edges name.
Expression Expressions::automaton(std::span<const AutomatonState> states, uint32_t start) {
  std::string key;
  const auto put = [&](uint64_t value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  for (const AutomatonState& state : states) {
    put(state.next.size() * 2 + (state.accepts ? 1 : 0));
    for (const AutomatonState::Edge& edge : state.next) {
      put(edge.to);
      for (const uint64_t word : edge.bytes.words()) put(word);
    }
  }
  const auto [known, is_new] =
      automata_.emplace(std::move(key), static_cast<uint32_t>(nodes_.size()));
  if (is_new) {
    for (const AutomatonState& state : states) {
      Node node;
      node.kind = Kind::kAutomaton;
      node.nullable = state.accepts;
      node.a = static_cast<uint32_t>(states_.size());
      states_.push_back(state);
      for (AutomatonState::Edge& edge : states_.back().next) edge.to += known->second;
      add(node);
    }
  }
  return {known->second + start};
}

}  // namespace puna::grammar
