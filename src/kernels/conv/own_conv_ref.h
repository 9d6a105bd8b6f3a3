// The plain form of own_conv.h, in f64.
#pragma once

#include "kernels/conv/own_conv.h"

namespace puna::kernels {

inline void own_conv_ref(const OwnConvCpuArgs& args) {
  const OwnConvShape& s = args.shape;
  for (size_t t = 0; t < args.n_rows; ++t) {
    for (size_t c = 0; c < s.n_channels; ++c) {
      double sum = 0;
      for (size_t k = 0; k < s.n_taps; ++k) {
        const size_t back = s.n_taps - 1 - k;
        if (static_cast<double>(back) > args.before[t * s.before_stride]) continue;
        sum += double{args.weights[c * s.n_taps + k]} * args.x[(t - back) * s.n_channels + c];
      }
      args.y[t * s.n_channels + c] = static_cast<float>(sum);
    }
  }
}

}  // namespace puna::kernels
