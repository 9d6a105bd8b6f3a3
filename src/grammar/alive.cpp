#include "grammar/alive.h"

namespace puna::grammar {

std::vector<bool> alive_states(std::span<const std::vector<uint32_t>> from,
                               std::vector<uint32_t> accepting) {
  std::vector<bool> alive(from.size());
  for (const uint32_t id : accepting) alive[id] = true;
  std::vector<uint32_t>& open = accepting;
  while (!open.empty()) {
    const uint32_t id = open.back();
    open.pop_back();
    for (const uint32_t before : from[id]) {
      if (!alive[before]) open.push_back(before);
      alive[before] = true;
    }
  }
  return alive;
}

}  // namespace puna::grammar
