// The plain form of shift.h: one element after the other, in f64.
#pragma once

#include "kernels/shift/shift.h"

namespace puna::kernels {

inline void shift_ref(const ShiftCpuArgs& args) {
  const ShiftShape& s = args.shape;
  for_each_run(args.step, [&](uint32_t begin, uint32_t end) {
    float* state = args.state + args.step.sequences[begin] * s.state_floats();
    for (uint32_t c = 0; c < s.n; ++c) {
      double before = args.step.positions[begin] == 0 ? 0.0 : double{state[c]};
      for (uint32_t t = begin; t < end; ++t) {
        const double x = args.x[uint64_t{t} * s.n + c];
        const double by = args.by ? args.by[uint64_t{t} * s.by_stride + s.by_column + c] : 0.0;
        args.y[uint64_t{t} * s.n + c] =
            static_cast<float>(x + (before - x) * (args.mix[s.mix_column + c] + by));
        before = x;
      }
      if (s.keeps) state[c] = static_cast<float>(before);
    }
  });
}

}  // namespace puna::kernels
