// Inputs of one test of the scan role.
#pragma once

#include <vector>

#include "kernels/common/test_util.h"
#include "kernels/scan/scan_ref.h"
#include "kernels/testing/runs.h"

namespace puna::kernels::test {

// Channels and states as models have them, and shapes with tails. Inputs are wider than what is
// read.
inline std::vector<ScanShape> scan_shapes() {
  std::vector<ScanShape> shapes = {{128, 16}, {70, 16}, {37, 36}, {9, 4}, {24, 256}};
  for (ScanShape& s : shapes) {
    s.z_column = 3;
    s.in_stride = s.n_channels + 5;
  }
  return shapes;
}

struct ScanCase {
  ScanShape shape;
  TestStep step;
  std::vector<float> x, dt, bc, in, constants, state;

  ScanCase(const ScanShape& s, const TestStep& on)
      : shape(s),
        step(on),
        x(normal(size_t{on.n_tokens()} * s.n_channels, 1)),
        dt(normal(size_t{on.n_tokens()} * s.n_channels, 2, 2.0f)),
        bc(normal(size_t{on.n_tokens()} * 2 * s.n_state, 3)),
        in(normal(size_t{on.n_tokens()} * s.in_stride, 4, 2.0f)),
        constants(normal(static_cast<size_t>(s.state_floats()) + s.n_channels, 5)),
        state(normal(kStateSequences * static_cast<size_t>(s.state_floats()), 6)) {
    for (size_t i = 0; i < s.state_floats(); ++i) constants[i] = -0.1f - std::fabs(constants[i]);
  }
  size_t n_y() const { return size_t{step.n_tokens()} * shape.n_channels; }
  ScanCpuArgs args(std::vector<float>& to_state, std::vector<float>& y) const {
    const float* d = constants.data() + shape.state_floats();
    return {step.cpu(),       x.data(), dt.data(),       bc.data(), in.data(),
            constants.data(), d,        to_state.data(), y.data(),  shape};
  }
};

}  // namespace puna::kernels::test
