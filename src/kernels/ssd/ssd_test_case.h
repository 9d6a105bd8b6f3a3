// Inputs of one test of the ssd role.
#pragma once

#include <vector>

#include "kernels/common/test_util.h"
#include "kernels/ssd/ssd_ref.h"
#include "kernels/testing/runs.h"

namespace puna::kernels::test {

// Heads, elements, states, groups as models have them, and shapes with tails. Inputs are wider than
// what is read.
inline std::vector<SsdShape> ssd_shapes() {
  std::vector<SsdShape> shapes = {{2, 64, 128, 1}, {4, 32, 64, 2}, {3, 20, 16, 3}, {2, 12, 36, 1}};
  for (SsdShape& s : shapes) {
    s.z_column = 3;
    s.dt_column = s.inner() + 5;
    s.in_stride = s.inner() + 5 + s.n_heads;
  }
  return shapes;
}

struct SsdCase {
  SsdShape shape;
  TestStep step;
  std::vector<float> xbc, in, constants, state;

  SsdCase(const SsdShape& s, const TestStep& on)
      : shape(s),
        step(on),
        xbc(normal(size_t{on.n_tokens()} * s.xbc_columns(), 1)),
        in(normal(size_t{on.n_tokens()} * s.in_stride, 2, 2.0f)),
        constants(normal(3 * size_t{s.n_heads}, 3)),
        state(normal(kStateSequences * static_cast<size_t>(s.state_floats()), 4)) {
    for (uint32_t h = 0; h < s.n_heads; ++h) constants[h] = -0.1f - std::fabs(constants[h]);
  }
  size_t n_y() const { return size_t{step.n_tokens()} * shape.inner(); }
  SsdCpuArgs args(std::vector<float>& to_state, std::vector<float>& y) const {
    const float* d = constants.data() + shape.n_heads;
    return {step.cpu(),      xbc.data(), in.data(), constants.data(), d, d + shape.n_heads,
            to_state.data(), y.data(),   shape};
  }
};

}  // namespace puna::kernels::test
