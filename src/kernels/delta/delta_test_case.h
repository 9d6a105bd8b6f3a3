// Inputs of one test of the delta role.
#pragma once

#include <vector>

#include "kernels/common/test_util.h"
#include "kernels/delta/delta_ref.h"
#include "kernels/testing/runs.h"

namespace puna::kernels::test {

// Key heads, value heads, key and value sizes as models have them, and shapes with tails; beta and
// alpha side by side for all heads, or by key head.
inline std::vector<DeltaShape> delta_shapes() {
  std::vector<DeltaShape> shapes = {
      {1, 2, 128, 128}, {2, 4, 64, 64}, {2, 4, 32, 40, true}, {3, 3, 12, 8}};
  for (size_t i = 0; i < shapes.size(); ++i) {
    DeltaShape& s = shapes[i];
    const bool by_key_head = i % 2 == 1;
    s.beta_column = 3;
    s.alpha_column = 3 + (by_key_head ? s.ratio() : s.n_value_heads);
    s.head_stride = by_key_head ? 2 * s.ratio() : s.ratio();
    s.in_stride = 3 + 2 * s.n_value_heads + 2;
  }
  return shapes;
}

struct DeltaCase {
  DeltaShape shape;
  TestStep step;
  std::vector<float> qkv, in, constants, state;

  DeltaCase(const DeltaShape& s, const TestStep& on)
      : shape(s),
        step(on),
        qkv(normal(size_t{on.n_tokens()} * s.qkv_columns(), 1)),
        in(normal(size_t{on.n_tokens()} * s.in_stride, 2, 2.0f)),
        constants(normal(2 * size_t{s.n_value_heads}, 3)),
        state(normal(kStateSequences * static_cast<size_t>(s.state_floats()), 4)) {
    for (uint32_t h = 0; h < s.n_value_heads; ++h) constants[h] = -0.1f - std::fabs(constants[h]);
  }
  size_t n_y() const { return size_t{step.n_tokens()} * shape.value_columns(); }
  DeltaCpuArgs args(std::vector<float>& to_state, std::vector<float>& y) const {
    return {step.cpu(),
            qkv.data(),
            in.data(),
            constants.data(),
            constants.data() + shape.n_value_heads,
            to_state.data(),
            y.data(),
            shape};
  }
};

}  // namespace puna::kernels::test
