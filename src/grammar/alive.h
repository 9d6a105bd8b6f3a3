// Which states of an automaton lead to an end: what cannot end is of no use to a mask.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace puna::grammar {

// By state, whether one of `accepting` is reached from it. `from`: of each state, those that have
// an edge to it.
std::vector<bool> alive_states(std::span<const std::vector<uint32_t>> from,
                               std::vector<uint32_t> accepting);

// Leaves out the states from which none that accepts is reached, and the edges to them; none stays
// where the first, which is the start, is one of these.
template <class State, class Edge>
void keep_alive(std::vector<State>& states, std::vector<Edge> State::* edges) {
  std::vector<std::vector<uint32_t>> from(states.size());
  std::vector<uint32_t> accepting;
  for (uint32_t id = 0; id < states.size(); ++id) {
    for (const Edge& edge : states[id].*edges) from[edge.to].push_back(id);
    if (states[id].accepts) accepting.push_back(id);
  }
  const std::vector<bool> alive = alive_states(from, std::move(accepting));
  std::vector<uint32_t> number(states.size());
  std::vector<State> kept;
  for (uint32_t id = 0; id < states.size(); ++id) {
    number[id] = static_cast<uint32_t>(kept.size());
    if (alive[id]) kept.push_back(std::move(states[id]));
  }
  for (State& state : kept) {
    std::erase_if(state.*edges, [&](const Edge& edge) { return !alive[edge.to]; });
    for (Edge& edge : state.*edges) edge.to = number[edge.to];
  }
  if (!alive[0]) kept.clear();
  states = std::move(kept);
}

}  // namespace puna::grammar
