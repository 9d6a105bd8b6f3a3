#include "engine/gpu_undo.h"

#include <doctest/doctest.h>

#include "kernels/sample/sample.h"

using namespace puna;
using namespace puna::engine;

namespace {

// Tokens that were given to the steps of a chain, each of which chooses one for every row.
size_t n_given(uint32_t n_rows, uint32_t n_steps) {
  plan::Step first;
  for (uint32_t row = 0; row < n_rows; ++row) {
    first.add(row, std::vector<int32_t>(1, 7), 20 + row);
    first.output_rows.push_back(row);
  }
  Undo undo(first, first.output_rows);
  undo.begin(0);
  const std::vector<kernels::Chosen> chosen(n_rows);
  for (uint32_t i = 0; i < n_steps; ++i) undo.ran(chosen);
  size_t n = 0;
  for (const Undo::Row& row : undo.rows) n += row.given.size();
  return n;
}

}  // namespace

TEST_CASE("a chain is as long as one step can run again, and no longer") {
  constexpr uint32_t kLongest = kernels::kChosenSteps;
  for (const uint32_t most_rows : {kernels::kMaxStepTokens, kernels::kStepRoom}) {
    CAPTURE(most_rows);
    for (uint32_t n_rows = 1; n_rows <= kernels::kMaxBatch; ++n_rows) {
      CAPTURE(n_rows);
      const uint32_t n_steps = steps_to_undo(kLongest, n_rows, most_rows);
      REQUIRE(n_steps >= 1);
      REQUIRE(n_steps <= kLongest);
      CHECK(n_given(n_rows, n_steps) <= most_rows);
      if (n_steps < kLongest) CHECK(n_given(n_rows, n_steps + 1) > most_rows);
    }
  }
  CHECK(steps_to_undo(kLongest, kernels::kMaxBatch, kernels::kMaxStepTokens) < kLongest);
  CHECK(steps_to_undo(kLongest, 0, kernels::kMaxStepTokens) == kLongest);  // nothing goes on
  CHECK(steps_to_undo(1, 16, kernels::kMaxStepTokens) == 1);
}
