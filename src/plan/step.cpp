#include "plan/step.h"

namespace puna::plan {

void Step::add(uint32_t sequence, std::span<const int32_t> more, uint32_t first) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  for (uint32_t i = 0; i < more.size(); ++i) positions.push_back(static_cast<int32_t>(first + i));
  sequences.insert(sequences.end(), more.size(), sequence);
}

Step next_step(const Step& step, std::span<const uint32_t> output_rows) {
  Step next;
  next.tokens.resize(output_rows.size());
  for (const uint32_t row : output_rows) {
    next.output_rows.push_back(static_cast<uint32_t>(next.positions.size()));
    next.positions.push_back(step.positions[row] + 1);
    next.sequences.push_back(step.sequences[row]);
    if (step.places.empty()) continue;
    const int32_t turn = step.places[row].next;
    next.places.push_back({.turns = {turn, turn, turn}, .next = turn});
  }
  return next;
}

}  // namespace puna::plan
