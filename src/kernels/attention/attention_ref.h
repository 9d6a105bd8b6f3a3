// The plain form of attention.h: all scores of a row, then softmax, then the weighted sum, in f64.
// Needs no scratch.
#pragma once

#include <algorithm>
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

// Rows that attend to each other (AttentionCpuArgs::own).
inline void own_attention_ref(const AttentionCpuArgs& args) {
  const size_t head_dim = args.kv.head_dim, n_kv_heads = args.kv.n_kv_heads;
  const size_t stride = (args.n_heads + 2 * n_kv_heads) * head_dim;
  for (size_t t = 0; t < args.step.n_tokens; ++t) {
    const size_t first = args.spans ? args.spans[2 * t] : 0;
    const size_t end = args.spans ? args.spans[2 * t + 1] : args.step.n_tokens;
    for (size_t h = 0; h < args.n_heads; ++h) {
      const float* q = args.q + t * stride + h * head_dim;
      const size_t kv_head = h / (args.n_heads / n_kv_heads);
      const float* k = args.q + (args.n_heads + kv_head) * head_dim;
      const float* v = k + n_kv_heads * head_dim;
      std::vector<double> weights;
      double largest = -INFINITY, sum = 0;
      for (size_t p = first; p < end; ++p) {
        double dot = 0;
        for (size_t d = 0; d < head_dim; ++d) dot += double{q[d]} * double{k[p * stride + d]};
        weights.push_back(dot * args.scale);
        largest = std::max(largest, weights.back());
      }
      for (double& weight : weights) sum += weight = std::exp(weight - largest);
      for (size_t d = 0; d < head_dim; ++d) {
        double value = 0;
        for (size_t p = first; p < end; ++p)
          value += weights[p - first] * double{v[p * stride + d]};
        args.out[(t * args.n_heads + h) * head_dim + d] = static_cast<float>(value / sum);
      }
    }
  }
}

inline void attention_ref(const AttentionCpuArgs& args) {
  if (args.own) return own_attention_ref(args);
  const uint32_t head_dim = args.kv.head_dim;
  const uint32_t v_dim = args.v_dim != 0 ? args.v_dim : head_dim;
  for (uint32_t t = 0; t < args.step.n_tokens; ++t) {
    const RowPlace place = args.step.places ? args.step.places[t] : RowPlace{};
    int64_t last = last_visible_ref(args.step, args.causal, t);
    int64_t first = args.window != 0 ? std::max<int64_t>(0, last - args.window + 1) : 0;
    if (args.window != 0 && args.chunks) first = last - last % args.window;
    if (args.window != 0 && !args.causal) {
      const int64_t position = args.step.positions[t];
      first = std::max<int64_t>(0, position - args.window + 1);
      last = std::min<int64_t>(last, position + args.window - 1);
    }
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
        if (args.max_alibi_bias > 0) {
          score -= double{alibi_slope(args.max_alibi_bias, args.n_heads, h)} *
                   static_cast<double>(std::abs(p - int64_t{args.step.positions[t]}));
        }
        if (args.biases) {
          const int64_t reach = args.bias_reach;
          const int64_t distance = std::clamp(p - int64_t{args.step.positions[t]}, -reach, reach);
          score += double{args.biases[h * (2 * reach + 1) + distance + reach]};
        }
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
