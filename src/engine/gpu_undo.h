// What the steps of the chain under delivery were given, to run them again from the state at the
// chain's start: recurrent states have moved on in the steps that are dropped. Only outputs that go
// on have such steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/sample/chosen.h"
#include "plan/step.h"

namespace puna::engine {

// Steps of a chain at most, `longest` or fewer, where n_rows rows go on: what was given to the
// steps of a chain runs again in one step, which takes at most_rows rows, no fewer than n_rows.
constexpr uint32_t steps_to_undo(uint32_t longest, uint32_t n_rows, uint32_t most_rows) {
  return std::min(longest, most_rows / std::max(n_rows, 1u));
}

struct Undo {
  struct Row {
    uint32_t sequence = 0;
    int32_t position = 0;        // at the chain's start
    std::vector<int32_t> given;  // to the steps since then
    std::vector<int32_t> next;   // what the next step is given
  };

  // outputs: rows of the first step.
  Undo(const plan::Step& first, std::span<const uint32_t> outputs) {
    for (const uint32_t output : outputs) {
      Row& row = rows.emplace_back();
      row.sequence = first.sequences[output];
      for (uint32_t t = 0; t < first.n_tokens(); ++t) {
        if (first.sequences[t] != row.sequence) continue;
        if (row.next.empty()) row.position = first.positions[t];
        row.next.push_back(first.tokens[t]);
      }
    }
  }
  void begin(size_t chain_slot) {
    chain = chain_slot;
    for (Row& row : rows) row.position += static_cast<int32_t>(row.given.size());
    for (Row& row : rows) row.given.clear();
  }
  // chosen: of the outputs that go on.
  void ran(std::span<const kernels::Chosen> chosen) {
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].given.insert(rows[i].given.end(), rows[i].next.begin(), rows[i].next.end());
      rows[i].next = {chosen[i].id};
    }
  }

  std::vector<Row> rows;
  size_t chain = 0;  // the slot that has its snapshots
  bool wanted = false;
};

}  // namespace puna::engine
