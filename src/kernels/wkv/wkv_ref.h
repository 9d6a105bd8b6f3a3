// The plain form of wkv.h: token after token, in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/wkv/wkv.h"

namespace puna::kernels {

inline double wkv_sigmoid(double v) { return 1.0 / (1.0 + std::exp(-v)); }

// One token of head h, whose columns begin at `first`.
inline void wkv_token_ref(const WkvCpuArgs& args, uint32_t t, uint32_t first, double* state) {
  const WkvShape& s = args.shape;
  const uint32_t n = s.head_dim;
  const bool seven = s.rule == WkvRule::kSeven;
  const auto part = [&](uint32_t p, uint32_t i) {
    return double{args.in[uint64_t{t} * s.in_stride + uint64_t{p} * s.n() + first + i]};
  };
  const auto constant = [&](uint32_t c, uint32_t i) {
    return double{args.constants[c][first + i]};
  };
  std::vector<double> r(n), k(n), d(n), u(n), rate(n);
  double squares = 0, bonus = 0;
  for (uint32_t i = 0; i < n; ++i) {
    r[i] = part(0, i);
    k[i] = part(1, i);
    const double w = constant(0, i) + part(2, i);
    d[i] = std::exp(seven ? -std::exp(-0.5) * wkv_sigmoid(w) : -std::exp(w));
    if (seven) {
      rate[i] = wkv_sigmoid(constant(2, i) + part(3, i));
      u[i] = k[i] * constant(3, i);
      squares += u[i] * u[i];
      k[i] *= 1 + (rate[i] - 1) * constant(4, i);
    }
    bonus += constant(1, i) * r[i] * k[i];
  }
  for (double& v : u) v /= std::max(std::sqrt(squares), double{kWkvLeastLength});
  for (uint32_t row = 0; row < n; ++row) {
    const uint64_t at = uint64_t{t} * s.n() + first + row;
    double v = args.values[at];
    if (s.mixes_values)
      v = part(4, row) + (v - part(4, row)) * wkv_sigmoid(constant(5, row) + part(5, row));
    double* own = state + uint64_t{row} * n;
    double before = 0, known = 0, after = 0;
    for (uint32_t i = 0; i < n; ++i) {
      before += own[i] * r[i];
      known += own[i] * u[i];
    }
    for (uint32_t i = 0; i < n; ++i) {
      own[i] = own[i] * d[i] - known * rate[i] * u[i] + v * k[i];
      after += own[i] * r[i];
    }
    args.y[at] = static_cast<float>(seven ? after : before + bonus * v);
    if (seven) args.extra[at] = static_cast<float>(bonus * v);
  }
}

inline void wkv_ref(const WkvCpuArgs& args) {
  const WkvShape& s = args.shape;
  for_each_run(args.step, [&](uint32_t begin, uint32_t end) {
    float* slot = args.state + args.step.sequences[begin] * s.state_floats();
    std::vector<double> state(slot, slot + s.state_floats());
    if (args.step.positions[begin] == 0) state.assign(state.size(), 0.0);
    for (uint32_t t = begin; t < end; ++t) {
      for (uint32_t h = 0; h < s.n_heads; ++h) {
        wkv_token_ref(args, t, h * s.head_dim,
                      state.data() + uint64_t{h} * s.head_dim * s.head_dim);
      }
    }
    for (size_t i = 0; i < state.size(); ++i) slot[i] = static_cast<float>(state[i]);
  });
}

}  // namespace puna::kernels
