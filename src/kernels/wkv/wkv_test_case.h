// Inputs of one test of the wkv role.
#pragma once

#include <array>
#include <vector>

#include "kernels/common/test_util.h"
#include "kernels/testing/runs.h"
#include "kernels/wkv/wkv_ref.h"

namespace puna::kernels::test {

// Heads as models have them, and others that divide among fewer invocations; every rule, values
// mixed and not. Inputs are wider than what is read.
inline std::vector<WkvShape> wkv_shapes() {
  std::vector<WkvShape> shapes;
  for (const uint32_t head_dim : {64u, 12u, 128u, 256u}) {
    const uint32_t n_heads = head_dim > 64 ? 1 : 3;
    shapes.push_back({WkvRule::kSix, n_heads, head_dim});
    shapes.push_back({WkvRule::kSeven, n_heads, head_dim});
    shapes.push_back({WkvRule::kSeven, n_heads, head_dim, 0, /*mixes_values=*/true});
  }
  for (WkvShape& s : shapes) s.in_stride = s.n_parts() * s.n() + 4;
  return shapes;
}

struct WkvCase {
  WkvShape shape;
  TestStep step;
  std::vector<float> in, values, constants, state;

  WkvCase(const WkvShape& s, const TestStep& on)
      : shape(s),
        step(on),
        in(normal(size_t{on.n_tokens()} * s.in_stride, 1)),
        values(normal(size_t{on.n_tokens()} * s.n(), 2)),
        constants(normal(size_t{s.n_constants()} * s.n(), 3)),
        state(normal(kStateSequences * static_cast<size_t>(s.state_floats()), 4)) {}
  size_t n_y() const { return size_t{step.n_tokens()} * shape.n(); }
  bool has_extra() const { return shape.rule == WkvRule::kSeven; }
  WkvCpuArgs args(std::vector<float>& to_state, std::vector<float>& y,
                  std::vector<float>& extra) const {
    WkvCpuArgs out;
    out.step = step.cpu();
    out.in = in.data();
    out.values = values.data();
    for (size_t c = 0; c < shape.n_constants(); ++c)
      out.constants[c] = constants.data() + c * shape.n();
    out.state = to_state.data();
    out.y = y.data();
    if (has_extra()) out.extra = extra.data();
    out.shape = shape;
    return out;
  }
};

}  // namespace puna::kernels::test
