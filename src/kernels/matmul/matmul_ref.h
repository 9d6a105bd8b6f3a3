// The plain form of matmul.h over decoded f32 weights: one output after the other, sums in f64.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/elementwise/elementwise_ref.h"
#include "kernels/matmul/matmul.h"

namespace puna::kernels {

struct MatmulRefArgs {
  const float* weight = nullptr;  // [rows, cols]
  uint32_t rows = 0;
  uint32_t cols = 0;
  const float* x = nullptr;  // [n_rows, cols]
  float* y = nullptr;        // [n_rows, y_stride]
  uint32_t n_rows = 0;
  uint32_t y_stride = 0;
  uint32_t y_column = 0;
  Epilogue epilogue = Epilogue::kStore;
  float softcap = 0.0f;
  const float* bias = nullptr;  // [rows]
  float scale = 1.0f;
  Activation activation = Activation::kSilu;
};

// The product of one weight row and one activation row, before the epilogue.
inline double dot_ref(const MatmulRefArgs& args, uint32_t t, uint32_t r) {
  double sum = 0;
  for (uint32_t k = 0; k < args.cols; ++k) {
    sum += double{args.x[uint64_t{t} * args.cols + k]} * args.weight[uint64_t{r} * args.cols + k];
  }
  return args.scale * (args.bias ? sum + args.bias[r] : sum);
}

inline double gate_ref(Epilogue epilogue, double gate, double up) {
  if (epilogue == Epilogue::kSwiGlu) return activate_ref(Activation::kSilu, gate) * up;
  if (epilogue == Epilogue::kGeGlu) return activate_ref(Activation::kGeluTanh, gate) * up;
  const double g = std::min(gate, 7.0);
  return g / (1 + std::exp(-1.702 * g)) * (std::clamp(up, -7.0, 7.0) + 1);
}

inline void matmul_ref(const MatmulRefArgs& args) {
  const bool gated = is_gated(args.epilogue);
  for (uint32_t t = 0; t < args.n_rows; ++t) {
    float* y = args.y + uint64_t{t} * args.y_stride + args.y_column;
    // Gated: output i is row i % 4 of the gate group 2 * (i / 4) and of the up group after it.
    for (uint32_t i = 0; i < (gated ? args.rows / 2 : args.rows); ++i) {
      if (gated) {
        const uint32_t gate = i / 4 * 8 + i % 4;
        y[i] = static_cast<float>(
            gate_ref(args.epilogue, dot_ref(args, t, gate), dot_ref(args, t, gate + 4)));
        continue;
      }
      const double product = dot_ref(args, t, i);
      if (args.epilogue == Epilogue::kAdd) {
        y[i] = static_cast<float>(y[i] + product);
      } else if (args.epilogue == Epilogue::kSoftcap) {
        y[i] = static_cast<float>(softcap_ref(product, double{args.softcap}));
      } else if (args.epilogue == Epilogue::kActivate) {
        y[i] = static_cast<float>(activate_ref(args.activation, product));
      } else {
        y[i] = static_cast<float>(product);
      }
    }
  }
}

}  // namespace puna::kernels
