// Steps for tests of kernels that keep state: what a chunk, a batch and a mix of both look like.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/testing/gpu_step.h"

namespace puna::kernels::test {

constexpr uint32_t kStateSequences = 5;  // slots that the steps below use

// Rows of one sequence after the other: {sequence, first position, number of rows}.
struct Run {
  uint32_t sequence;
  int32_t position;
  uint32_t n_rows;
};
inline TestStep step_of(const std::vector<Run>& runs) {
  std::vector<int32_t> positions;
  std::vector<uint32_t> sequences;
  for (const Run& run : runs) {
    for (uint32_t i = 0; i < run.n_rows; ++i) {
      positions.push_back(run.position + static_cast<int32_t>(i));
      sequences.push_back(run.sequence);
    }
  }
  return {std::move(positions), std::move(sequences)};
}

// One row new and going on, short and long chunks, a batch, and runs of different lengths that
// meet.
inline std::vector<TestStep> state_steps() {
  return {step_of({{0, 0, 1}}),
          step_of({{3, 7, 1}}),
          step_of({{1, 0, 40}}),
          step_of({{1, 1, 2}, {0, 2, 33}}),
          step_of({{0, 5, 1}, {4, 0, 1}, {2, 1, 1}, {1, 2, 1}}),
          step_of({{2, 9, 1}, {3, 0, 2}, {0, 4, 3}, {1, 100, 17}})};
}

}  // namespace puna::kernels::test
