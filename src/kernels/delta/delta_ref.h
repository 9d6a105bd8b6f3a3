// The plain form of delta.h: token after token, in f64.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/delta/delta.h"

namespace puna::kernels {

// v / sqrt(sum v^2 + eps)
inline std::vector<double> unit_ref(const float* v, uint32_t n, float eps) {
  double sum = eps;
  for (uint32_t i = 0; i < n; ++i) sum += double{v[i]} * v[i];
  std::vector<double> out(v, v + n);
  for (double& value : out) value /= std::sqrt(sum);
  return out;
}

inline void delta_ref(const DeltaCpuArgs& args) {
  const DeltaShape& s = args.shape;
  for_each_run(args.step, [&](uint32_t begin, uint32_t end) {
    float* slot = args.state + args.step.sequences[begin] * s.state_floats();
    std::vector<double> state(slot, slot + s.state_floats());
    if (args.step.positions[begin] == 0) state.assign(state.size(), 0.0);
    for (uint32_t t = begin; t < end; ++t) {
      const float* qkv = args.qkv + uint64_t{t} * s.qkv_columns();
      const float* in = args.in + uint64_t{t} * s.in_stride;
      for (uint32_t h = 0; h < s.n_value_heads; ++h) {
        const uint64_t at = uint64_t{s.key_head(h)} * s.key_dim;
        const auto q = unit_ref(qkv + at, s.key_dim, s.eps);
        const auto k = unit_ref(qkv + s.key_columns() + at, s.key_dim, s.eps);
        const double alpha = double{in[s.alpha_column + s.offset(h)]} + args.dt_bias[h];
        const double rate = std::max(alpha, 0.0) + std::log1p(std::exp(-std::fabs(alpha)));
        const double decay = std::exp(args.a[h] * rate);
        const double beta = 1.0 / (1.0 + std::exp(-double{in[s.beta_column + s.offset(h)]}));
        for (uint32_t v = h * s.value_dim; v < (h + 1) * s.value_dim; ++v) {
          double* row = state.data() + uint64_t{v} * s.key_dim;
          double known = 0;
          for (uint32_t i = 0; i < s.key_dim; ++i) known += (row[i] *= decay) * k[i];
          const double step = beta * (qkv[2 * s.key_columns() + v] - known);
          double sum = 0;
          for (uint32_t i = 0; i < s.key_dim; ++i) sum += (row[i] += step * k[i]) * q[i];
          args.y[uint64_t{t} * s.value_columns() + v] =
              static_cast<float>(sum / std::sqrt(static_cast<double>(s.key_dim)));
        }
      }
    }
    for (size_t i = 0; i < state.size(); ++i) slot[i] = static_cast<float>(state[i]);
  });
}

}  // namespace puna::kernels
