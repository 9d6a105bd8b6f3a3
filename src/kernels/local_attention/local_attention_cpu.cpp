// Attention to the rows right before on the CPU: rows by themselves. It is a hundredth of an
// encoder's work, so there is no form for each instruction set.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "kernels/local_attention/local_attention.h"

namespace puna::kernels {
namespace {

// One head of one row; `first` is its first element in a row.
void attend(const LocalAttentionCpuArgs& args, size_t t, size_t first, size_t n) {
  const LocalAttentionShape& s = args.shape;
  const size_t width = s.width();
  const float* const q = args.q + t * width + first;
  std::array<float, kMaxLocalWindow> weights;
  float largest = -s.cap;
  for (size_t d = 0; d < n; ++d) {
    const float* const k = args.k + (t - d) * width + first;
    const float* const far = args.far + d * width + first;
    float sum = 0;
    for (size_t i = 0; i < s.head_dim; ++i)
      sum += q[i] * args.gamma[i] * (s.key_scale * k[i] + far[i]);
    weights[d] = s.cap * std::tanh(sum * s.scale / s.cap);
    largest = std::max(largest, weights[d]);
  }
  float total = 0;
  for (size_t d = 0; d < n; ++d) {
    weights[d] = std::exp(weights[d] - largest);
    total += weights[d];
  }
  float* const y = args.y + t * width + first;
  std::fill_n(y, s.head_dim, 0.0f);
  for (size_t d = 0; d < n; ++d) {
    const float* const v = args.v + (t - d) * width + first;
    const float weight = weights[d] / total;
    for (size_t i = 0; i < s.head_dim; ++i) y[i] += weight * v[i];
  }
}

}  // namespace

void local_attention_cpu(base::ThreadPool& pool, const LocalAttentionCpuArgs& args) {
  const LocalAttentionShape& s = args.shape;
  const auto rows = [&](uint32_t begin, uint32_t end) {
    for (size_t t = begin; t < end; ++t) {
      const size_t n =
          std::min(static_cast<size_t>(args.before[t * s.before_stride]), size_t{s.window} - 1) + 1;
      for (size_t first = 0; first < s.width(); first += s.head_dim) attend(args, t, first, n);
    }
  };
  pool.run(args.n_rows, 1, std::ref(rows));
}

}  // namespace puna::kernels
