// The plain form of scan.h: token after token, in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/scan/scan.h"

namespace puna::kernels {

inline void scan_ref(const ScanCpuArgs& args) {
  const ScanShape& s = args.shape;
  for_each_run(args.step, [&](uint32_t begin, uint32_t end) {
    float* slot = args.state + args.step.sequences[begin] * s.state_floats();
    std::vector<double> state(slot, slot + s.state_floats());
    if (args.step.positions[begin] == 0) state.assign(state.size(), 0.0);
    for (uint32_t t = begin; t < end; ++t) {
      const float* b = args.bc + uint64_t{t} * 2 * s.n_state;
      const float* c = b + s.n_state;
      for (uint32_t i = 0; i < s.n_channels; ++i) {
        const uint64_t at = uint64_t{t} * s.n_channels + i;
        const double raw = args.dt[at];
        const double dt = std::max(raw, 0.0) + std::log1p(std::exp(-std::fabs(raw)));
        const double x = args.x[at];
        double sum = args.d[i] * x;
        for (uint32_t n = 0; n < s.n_state; ++n) {
          const size_t of_state = size_t{i} * s.n_state + n;
          state[of_state] = std::exp(dt * args.a[of_state]) * state[of_state] + dt * x * b[n];
          sum += state[of_state] * c[n];
        }
        const double z = args.in[uint64_t{t} * s.in_stride + s.z_column + i];
        args.y[at] = static_cast<float>(sum * z / (1.0 + std::exp(-z)));
      }
    }
    for (size_t i = 0; i < state.size(); ++i) slot[i] = static_cast<float>(state[i]);
  });
}

}  // namespace puna::kernels
