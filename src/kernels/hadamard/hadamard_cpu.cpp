// The Walsh-Hadamard transform on the CPU: log2(n) rounds of sums and differences of pairs.
#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/hadamard/hadamard.h"

namespace puna::kernels {
namespace {

void transform(float* v, uint32_t n) {
  for (uint32_t reach = 1; reach < n; reach *= 2) {
    for (uint32_t first = 0; first < n; first += 2 * reach) {
      for (uint32_t i = first; i < first + reach; ++i) {
        const float a = v[i], b = v[i + reach];
        v[i] = a + b;
        v[i + reach] = a - b;
      }
    }
  }
  const float scale = 1.0f / std::sqrt(static_cast<float>(n));
  for (uint32_t i = 0; i < n; ++i) v[i] *= scale;
}

}  // namespace

void hadamard_cpu(base::ThreadPool& pool, const HadamardCpuArgs& args) {
  const HadamardShape& s = args.shape;
  const auto parts = [&](uint32_t begin, uint32_t end) {
    for (size_t part = begin; part < end; ++part) transform(args.y + part * s.n, s.n);
  };
  pool.run(args.n_rows * s.n_parts, std::max(4096 / s.n, 1u), std::ref(parts));
}

}  // namespace puna::kernels
