// The plain form of ssd.h: token after token, in f64.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/ssd/ssd.h"

namespace puna::kernels {

inline double softplus_ref(double v) {
  return std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v)));
}

inline void ssd_ref(const SsdCpuArgs& args) {
  const SsdShape& s = args.shape;
  for_each_run(args.step, [&](uint32_t begin, uint32_t end) {
    float* slot = args.state + args.step.sequences[begin] * s.state_floats();
    std::vector<double> state(slot, slot + s.state_floats());
    if (args.step.positions[begin] == 0) state.assign(state.size(), 0.0);
    for (uint32_t t = begin; t < end; ++t) {
      const float* x = args.xbc + uint64_t{t} * s.xbc_columns();
      const float* in = args.in + uint64_t{t} * s.in_stride;
      for (uint32_t h = 0; h < s.n_heads; ++h) {
        const uint32_t group = h / (s.n_heads / s.n_groups);
        const float* b = x + s.inner() + uint64_t{group} * s.n_state;
        const float* c = b + uint64_t{s.n_groups} * s.n_state;
        const double dt = softplus_ref(double{in[s.dt_column + h]} + args.dt_bias[h]);
        const double decay = std::exp(dt * args.a[h]);
        for (uint32_t i = h * s.head_dim; i < (h + 1) * s.head_dim; ++i) {
          double* row = state.data() + uint64_t{i} * s.n_state;
          double sum = double{args.d[h]} * x[i];
          for (uint32_t n = 0; n < s.n_state; ++n) {
            row[n] = decay * row[n] + dt * x[i] * b[n];
            sum += row[n] * c[n];
          }
          const double z = in[s.z_column + i];
          args.y[uint64_t{t} * s.inner() + i] = static_cast<float>(sum * z / (1.0 + std::exp(-z)));
        }
      }
    }
    for (size_t i = 0; i < state.size(); ++i) slot[i] = static_cast<float>(state[i]);
  });
}

}  // namespace puna::kernels
