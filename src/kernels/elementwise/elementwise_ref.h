// The plain form of elementwise.h, one element at a time in f64.
#pragma once

#include <cmath>

#include "kernels/elementwise/elementwise.h"

namespace puna::kernels {

inline double activate_ref(Activation activation, double v) {
  switch (activation) {
    case Activation::kSilu:
      return v / (1.0 + std::exp(-v));
    case Activation::kGeluTanh:  // 0.5 v (1 + tanh(sqrt(2 / pi) (v + 0.044715 v^3)))
      return 0.5 * v * (1.0 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
    case Activation::kGeluErf:
      return 0.5 * v * std::erfc(-v * 0.7071067811865476);
    case Activation::kRelu:
      return v > 0 ? v : 0;
    case Activation::kReluSquared:
      return v > 0 ? v * v : 0;
    case Activation::kTanh:
      return std::tanh(v);
    case Activation::kGeluQuick:
      return v / (1.0 + std::exp(-1.702 * v));
  }
  return 0;
}

inline double softcap_ref(double v, double cap) { return cap * std::tanh(v / cap); }

inline void gate_ref(const float* x, float* y, uint32_t n_rows, uint32_t n, uint32_t n_gates) {
  for (uint64_t i = 0; i < uint64_t{n_rows} * n; ++i) {
    const double by = x[n_gates == 1 ? i / n : i];
    y[i] = static_cast<float>(y[i] / (1.0 + std::exp(-by)));
  }
}

inline void scale_ref(float* y, uint64_t n_elements, float scale) {
  for (uint64_t i = 0; i < n_elements; ++i) y[i] *= scale;
}

inline void softcap_ref(float* y, uint64_t n_elements, float cap) {
  for (uint64_t i = 0; i < n_elements; ++i)
    y[i] = static_cast<float>(softcap_ref(double{y[i]}, double{cap}));
}

inline void glu_ref(const float* gate_up, float* y, uint32_t n_rows, uint32_t n,
                    Activation activation) {
  for (uint64_t t = 0; t < n_rows; ++t) {
    for (uint64_t i = 0; i < n; ++i) {
      const double gate = gate_up[t * 2 * n + i];
      const double up = gate_up[t * 2 * n + n + i];
      y[t * n + i] = static_cast<float>(activate_ref(activation, gate) * up);
    }
  }
}

}  // namespace puna::kernels
