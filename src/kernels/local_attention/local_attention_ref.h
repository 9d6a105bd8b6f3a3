// The plain form of local_attention.h, in f64.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/local_attention/local_attention.h"

namespace puna::kernels {

inline void local_attention_ref(const LocalAttentionCpuArgs& args) {
  const LocalAttentionShape& s = args.shape;
  const size_t width = s.width();
  for (size_t t = 0; t < args.n_rows; ++t) {
    for (size_t first = 0; first < width; first += s.head_dim) {
      std::vector<double> weights;
      double total = 0;
      for (size_t d = 0; d < s.window; ++d) {
        if (static_cast<double>(d) > args.before[t * s.before_stride]) break;
        double score = 0;
        for (size_t i = 0; i < s.head_dim; ++i) {
          const double key = double{s.key_scale} * args.k[(t - d) * width + first + i] +
                             args.far[d * width + first + i];
          score += double{s.scale} * args.q[t * width + first + i] * args.gamma[i] * key;
        }
        weights.push_back(std::exp(s.cap * std::tanh(score / s.cap)));
        total += weights.back();
      }
      for (size_t i = 0; i < s.head_dim; ++i) {
        double sum = 0;
        for (size_t d = 0; d < weights.size(); ++d)
          sum += weights[d] * args.v[(t - d) * width + first + i];
        args.y[t * width + first + i] = static_cast<float>(sum / total);
      }
    }
  }
}

}  // namespace puna::kernels
