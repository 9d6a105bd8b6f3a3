// The plain form of attention.h: all scores of a row, then softmax, then the weighted sum, in f64.
// Needs no scratch.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/common/kv_ref.h"

namespace puna::kernels {

// The last position that row t sees, but for what its place adds.
inline int64_t last_visible_ref(const CpuStep& step, bool causal, uint32_t t) {
  int64_t last = step.positions[t];
  for (uint32_t other = 0; other < step.n_tokens && !causal; ++other) {
    if (step.sequences[other] == step.sequences[t])
      last = std::max<int64_t>(last, step.positions[other]);
  }
  return last;
}

inline void attention_ref(const AttentionCpuArgs& args) {
  const uint32_t head_dim = args.kv.head_dim;
  const uint32_t v_dim = args.v_dim != 0 ? args.v_dim : head_dim;
  for (uint32_t t = 0; t < args.step.n_tokens; ++t) {
    const RowPlace place = args.step.places ? args.step.places[t] : RowPlace{};
    int64_t last = last_visible_ref(args.step, args.causal, t);
    int64_t first = args.window != 0 ? std::max<int64_t>(0, last - args.window + 1) : 0;
    first = std::min(first, last - place.before);
    last += place.after;
    const uint32_t* pages =
        args.step.pages + uint64_t{args.step.sequences[t]} * args.step.pages_per_sequence;
    for (uint32_t h = 0; h < args.n_heads; ++h) {
      const uint32_t kv_head = h / (args.n_heads / args.kv.n_kv_heads);
      const float* q = args.q + (uint64_t{t} * args.n_heads + h) * head_dim;
      const auto row_of = [&](int64_t p) {
        return kv_row(args.kv, pages[p / kPageTokens], kv_head,
                      static_cast<uint32_t>(p % kPageTokens));
      };
      std::vector<double> weights;
      double largest = args.sinks ? args.sinks[h] : -INFINITY;
      for (int64_t p = first; p <= last; ++p) {
        double dot = 0;
        for (uint32_t d = 0; d < head_dim; ++d)
          dot += double{q[d]} * kv_load_ref(args.kv, args.k_cache, row_of(p), d);
        double score = dot * args.scale;
        if (args.softcap > 0) score = args.softcap * std::tanh(score / args.softcap);
        largest = std::max(largest, score);
        weights.push_back(score);
      }
      double sum = args.sinks ? std::exp(args.sinks[h] - largest) : 0;
      for (double& weight : weights) sum += weight = std::exp(weight - largest);
      for (uint32_t d = 0; d < v_dim; ++d) {
        double value = 0;
        for (int64_t p = first; p <= last; ++p) {
          value += weights[static_cast<size_t>(p - first)] *
                   kv_load_ref(args.kv, args.v_cache, row_of(p), d);
        }
        args.out[(uint64_t{t} * args.n_heads + h) * v_dim + d] = static_cast<float>(value / sum);
      }
    }
  }
}

}  // namespace puna::kernels
