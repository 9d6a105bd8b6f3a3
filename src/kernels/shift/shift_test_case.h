// Inputs of one test of the shift role.
#pragma once

#include <vector>

#include "kernels/common/test_util.h"
#include "kernels/shift/shift_ref.h"
#include "kernels/testing/runs.h"

namespace puna::kernels::test {

// One of several mixes, what tokens add among other columns, and tails; with the state moved on and
// not.
inline std::vector<ShiftShape> shift_shapes() {
  return {{64, 128, 0, 0, true}, {64, 0, 192, 64, false}, {300, 300, 600, 300, true}, {4, 0, 4, 0}};
}

struct ShiftCase {
  ShiftShape shape;
  TestStep step;
  std::vector<float> x, mix, by, state;

  ShiftCase(const ShiftShape& s, const TestStep& on)
      : shape(s),
        step(on),
        x(normal(size_t{on.n_tokens()} * s.n, 1)),
        mix(normal(size_t{s.mix_column} + s.n, 2)),
        by(normal(size_t{on.n_tokens()} * s.by_stride, 3)),
        state(normal(kStateSequences * static_cast<size_t>(s.state_floats()), 4)) {}
  size_t n_y() const { return size_t{step.n_tokens()} * shape.n; }
  ShiftCpuArgs args(std::vector<float>& to_state, std::vector<float>& y) const {
    return {step.cpu(),      x.data(), mix.data(), by.empty() ? nullptr : by.data(),
            to_state.data(), y.data(), shape};
  }
};

}  // namespace puna::kernels::test
