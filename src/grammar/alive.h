// Which states of an automaton lead to an end: what cannot end is of no use to a mask.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace puna::grammar {

// By state, whether one of `accepting` is reached from it. `from`: of each state, those that have
// an edge to it.
std::vector<bool> alive_states(std::span<const std::vector<uint32_t>> from,
                               std::vector<uint32_t> accepting);

}  // namespace puna::grammar
