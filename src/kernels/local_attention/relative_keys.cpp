#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/local_attention/local_attention.h"

namespace puna::kernels {

std::vector<float> relative_keys(const RelativeKeys& keys, uint32_t n_rows, uint32_t n,
                                 const float* matrix) {
  const size_t n_turns = n / 2;
  const double step = std::log(static_cast<double>(keys.slowest)) /
                      static_cast<double>(std::max<size_t>(n_turns, 2) - 1);
  std::vector<float> out(size_t{keys.window} * n_rows);
  std::vector<double> position(n);
  for (size_t d = 0; d < keys.window; ++d) {
    for (size_t i = 0; i < n_turns; ++i) {
      const double angle = static_cast<double>(d) * std::exp(-step * static_cast<double>(i));
      position[i] = std::sin(angle);
      position[n_turns + i] = std::cos(angle);
    }
    for (size_t row = 0; row < n_rows; ++row) {
      double sum = 0;
      for (size_t i = 0; i < n; ++i) sum += matrix[row * n + i] * position[i];
      out[d * n_rows + row] = static_cast<float>(sum);
    }
  }
  return out;
}

}  // namespace puna::kernels
