// Recurrent state: what a layer remembers of a sequence instead of keys and values. One slot of f32
// for each sequence, in a slice [n_sequences, slot].
//
// Kernels that keep state walk over runs: rows of one sequence that follow each other in a step, in
// rising positions. A sequence has at most one run in a step. A row at position 0 begins a sequence
// anew, whatever its slot holds, so slots need no clearing.
#pragma once

#include <cstdint>

#include "kernels/common/step.h"

namespace puna::kernels {

// Whether a run begins at row t.
inline bool begins_run(const CpuStep& step, uint32_t t) {
  return t == 0 || step.sequences[t - 1] != step.sequences[t];
}

// The row behind the run that begins at row t.
inline uint32_t run_end(const CpuStep& step, uint32_t t) {
  uint32_t end = t + 1;
  while (end < step.n_tokens && step.sequences[end] == step.sequences[t]) ++end;
  return end;
}

// Calls body(first row, row behind the last) for each run of a step.
template <class Body>
void for_each_run(const CpuStep& step, const Body& body) {
  for (uint32_t t = 0; t < step.n_tokens;) {
    const uint32_t end = run_end(step, t);
    body(t, end);
    t = end;
  }
}

}  // namespace puna::kernels
