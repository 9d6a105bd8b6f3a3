// The plain form of conv.h: one element after the other, sums in f64.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/conv/conv.h"

namespace puna::kernels {

inline void conv_ref(const ConvCpuArgs& args) {
  const ConvShape& s = args.shape;
  const uint32_t n_past = s.n_taps - 1;
  for_each_run(args.step, [&](uint32_t begin, uint32_t end) {
    float* state = args.state + args.step.sequences[begin] * s.state_floats();
    for (uint32_t c = 0; c < s.n_channels; ++c) {
      std::vector<double> u;  // the past, then the run
      for (uint32_t k = 0; k < n_past; ++k) {
        const int64_t position = int64_t{args.step.positions[begin]} - n_past + k;
        u.push_back(position < 0 ? 0.0 : double{state[uint64_t{k} * s.n_channels + c]});
      }
      for (uint32_t t = begin; t < end; ++t) {
        const float* x = args.x + uint64_t{t} * s.x_stride + s.x_column + c;
        const bool gated = s.form == ConvForm::kGated;
        u.push_back(gated ? double{x[0]} * x[2 * uint64_t{s.n_channels}] : double{x[0]});
        double sum = args.bias ? args.bias[c] : 0.0;
        for (uint32_t k = 0; k < s.n_taps; ++k)
          sum += args.weights[uint64_t{c} * s.n_taps + k] * u[t - begin + k];
        if (s.form == ConvForm::kSilu) sum /= 1.0 + std::exp(-sum);
        if (gated) sum *= x[s.n_channels];
        args.y[uint64_t{t} * s.n_channels + c] = static_cast<float>(sum);
      }
      for (uint32_t k = 0; k < n_past; ++k)
        state[uint64_t{k} * s.n_channels + c] = static_cast<float>(u[u.size() - n_past + k]);
    }
  });
}

}  // namespace puna::kernels
