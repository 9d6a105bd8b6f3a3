// The plain form of mla.h, in f64.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/common/kv_ref.h"
#include "kernels/mla/mla.h"
#include "kernels/norm/norm_ref.h"
#include "kernels/rope/rope_ref.h"

namespace puna::kernels {

inline void mla_append_ref(const MlaCpuArgs& args) {
  const MlaShape& shape = args.shape;
  for (uint32_t t = 0; t < args.step.n_tokens; ++t) {
    const int32_t position = args.step.positions[t];
    const auto turned = [&](const float* x) {
      std::vector<double> v(x, x + shape.rope.n_rot);
      rope_row_ref(v, shape.rope, args.freq_factors, position);
      return v;
    };
    for (uint32_t h = 0; h < shape.n_heads; ++h) {
      const uint64_t head = uint64_t{t} * shape.n_heads + h;
      const auto v = turned(args.q + head * shape.q_dim() + shape.n_nope);
      std::copy(v.begin(), v.end(), args.q_out + head * shape.k_dim() + shape.n_latent);
    }
    const float* kv = args.kv + uint64_t{t} * shape.k_dim();
    std::vector<double> latent(kv, kv + shape.n_latent);
    rms_norm_row_ref(latent, args.gamma, shape.norm_eps);
    std::vector<float> row(latent.begin(), latent.end());
    for (const double value : turned(kv + shape.n_latent)) row.push_back(static_cast<float>(value));
    const uint32_t page =
        args.step.pages[uint64_t{args.step.sequences[t]} * args.step.pages_per_sequence +
                        static_cast<uint32_t>(position) / kPageTokens];
    kv_store_ref(args.layout, args.k_cache,
                 kv_row(args.layout, page, 0, static_cast<uint32_t>(position) % kPageTokens),
                 row.data());
  }
}

}  // namespace puna::kernels
