// The causal convolution over rows of a step on the CPU: rows by themselves. It is a thousandth of
// an encoder's work, so there is no form for each instruction set.
#include <algorithm>
#include <functional>

#include "kernels/conv/own_conv.h"

namespace puna::kernels {

void own_conv_cpu(base::ThreadPool& pool, const OwnConvCpuArgs& args) {
  const OwnConvShape& s = args.shape;
  const auto rows = [&](uint32_t begin, uint32_t end) {
    for (size_t t = begin; t < end; ++t) {
      const size_t reach =
          std::min(static_cast<size_t>(args.before[t * s.before_stride]), size_t{s.n_taps} - 1);
      float* const y = args.y + t * s.n_channels;
      std::fill_n(y, s.n_channels, 0.0f);
      for (size_t back = 0; back <= reach; ++back) {
        const float* const x = args.x + (t - back) * s.n_channels;
        const float* const w = args.weights + s.n_taps - 1 - back;
        for (size_t c = 0; c < s.n_channels; ++c) y[c] += w[c * s.n_taps] * x[c];
      }
    }
  };
  pool.run(args.n_rows, std::max(4096 / std::max(s.n_channels, 1u), 1u), std::ref(rows));
}

}  // namespace puna::kernels
