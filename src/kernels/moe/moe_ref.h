// The plain form of moe.h over decoded f32 weights: one row, expert and output after the other,
// sums in f64.
#pragma once

#include <vector>

#include "kernels/matmul/matmul_ref.h"
#include "kernels/moe/moe.h"
#include "kernels/moe/route_ref.h"

namespace puna::kernels {

struct MoeRefArgs {
  MoeShape shape;
  const float* gate_up = nullptr;  // [n_experts * 2 * ffn, hidden]; without a gate [.. ffn, ..]
  const float* down = nullptr;     // [n_experts * hidden, ffn]
  const float* logits = nullptr;
  const float* selection_bias = nullptr;
  const float* gate_up_bias = nullptr;
  const float* down_bias = nullptr;
  const float* x = nullptr;
  float* y = nullptr;
  bool adds = false;
  uint32_t n_rows = 0;
};

inline void moe_ref(const MoeRefArgs& args) {
  const MoeShape& shape = args.shape;
  const uint32_t n_chosen = shape.route.n_chosen;
  std::vector<uint32_t> experts(size_t{args.n_rows} * n_chosen);
  std::vector<float> weights(experts.size());
  RouteCpuArgs route;
  route.logits = args.logits;
  route.selection_bias = args.selection_bias;
  route.experts = experts.data();
  route.weights = weights.data();
  route.n_rows = args.n_rows;
  route.params = shape.route;
  route_ref(route);
  std::vector<float> h(shape.ffn), out(shape.hidden);
  for (uint32_t t = 0; t < args.n_rows; ++t) {
    std::vector<double> sum(shape.hidden, 0.0);
    for (uint32_t slot = 0; slot < n_chosen; ++slot) {
      const uint64_t e = experts[size_t{t} * n_chosen + slot];
      const uint32_t gate_rows = (is_gated(shape.gate) ? 2 : 1) * shape.ffn;
      MatmulRefArgs product{.weight = args.gate_up + e * gate_rows * shape.hidden,
                            .rows = gate_rows,
                            .cols = shape.hidden,
                            .x = args.x + uint64_t{t} * shape.hidden,
                            .y = h.data(),
                            .n_rows = 1,
                            .y_stride = shape.ffn,
                            .epilogue = shape.gate,
                            .activation = Activation::kGeluErf};
      if (args.gate_up_bias) product.bias = args.gate_up_bias + e * gate_rows;
      matmul_ref(product);
      product = {.weight = args.down + e * shape.hidden * shape.ffn,
                 .rows = shape.hidden,
                 .cols = shape.ffn,
                 .x = h.data(),
                 .y = out.data(),
                 .n_rows = 1,
                 .y_stride = shape.hidden};
      if (args.down_bias) product.bias = args.down_bias + e * shape.hidden;
      matmul_ref(product);
      for (uint32_t i = 0; i < shape.hidden; ++i)
        sum[i] += double{weights[size_t{t} * n_chosen + slot]} * out[i];
    }
    float* y = args.y + uint64_t{t} * shape.hidden;
    for (uint32_t i = 0; i < shape.hidden; ++i)
      y[i] = static_cast<float>((args.adds ? y[i] : 0.0) + sum[i]);
  }
}

}  // namespace puna::kernels
