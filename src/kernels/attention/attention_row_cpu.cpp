// One token against keys of one kv head, a page at a time. Elements of a head lie across the vector
// lanes; K and V of a page are converted once for all the query heads that share them.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "kernels/attention/attention_job.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_row_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/kv-inl.h"
#include "kernels/common/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

using DE = hn::ScalableTag<float>;
using VE = hn::Vec<DE>;

// scores[h][i] = scale * q[h] . k[i] for kHeads heads; rows of scores are kPageTokens long.
template <int kHeads>
HWY_INLINE void score_page(const float* q, const float* k, size_t n_keys, size_t head_dim,
                           float scale, float* scores) {
  const DE d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n_keys; ++i) {
    const float* key = k + i * head_dim;
    VE sum[kHeads];
    for (int h = 0; h < kHeads; ++h) sum[h] = hn::Zero(d);
    size_t e = 0;
    for (; e + lanes <= head_dim; e += lanes) {
      const VE value = hn::LoadU(d, key + e);
      for (int h = 0; h < kHeads; ++h)
        sum[h] = hn::MulAdd(value, hn::LoadU(d, q + static_cast<size_t>(h) * head_dim + e), sum[h]);
    }
    if (e < head_dim) {
      const VE value = hn::LoadN(d, key + e, head_dim - e);
      for (int h = 0; h < kHeads; ++h) {
        sum[h] = hn::MulAdd(
            value, hn::LoadN(d, q + static_cast<size_t>(h) * head_dim + e, head_dim - e), sum[h]);
      }
    }
    for (int h = 0; h < kHeads; ++h)
      scores[static_cast<size_t>(h) * kPageTokens + i] = hn::ReduceSum(d, sum[h]) * scale;
  }
}

// results[h] (rows v_dim + 2 apart) = factor[h] * results[h] + sum over keys of weights[h][i] v[i]
template <int kHeads>
HWY_INLINE void weigh_page(const float* weights, const float* factor, const float* v, size_t n_keys,
                           size_t head_dim, size_t v_dim, float* results) {
  const size_t stride = v_dim + 2;
  const DE d;
  const size_t lanes = hn::Lanes(d);
  for (size_t e = 0; e < v_dim; e += lanes) {
    const size_t left = HWY_MIN(lanes, v_dim - e);
    VE sum[kHeads];
    for (int h = 0; h < kHeads; ++h) {
      sum[h] = hn::Mul(hn::LoadN(d, results + static_cast<size_t>(h) * stride + e, left),
                       hn::Set(d, factor[h]));
    }
    for (size_t i = 0; i < n_keys; ++i) {
      const VE value = left == lanes ? hn::LoadU(d, v + i * head_dim + e)
                                     : hn::LoadN(d, v + i * head_dim + e, left);
      for (int h = 0; h < kHeads; ++h) {
        sum[h] = hn::MulAdd(value, hn::Set(d, weights[static_cast<size_t>(h) * kPageTokens + i]),
                            sum[h]);
      }
    }
    for (int h = 0; h < kHeads; ++h)
      hn::StoreN(sum[h], d, results + static_cast<size_t>(h) * stride + e, left);
  }
}

// Takes ALiBi's share off a page of scores; the key of the first is `distance` before the token.
HWY_INLINE void subtract_distances(float* scores, size_t n_keys, float distance, float slope) {
  for (size_t i = 0; i < n_keys; ++i)
    scores[i] -= slope * std::abs(distance - static_cast<float>(i));
}

// Adds the biases of a head, of which `middle` is that for no distance, to a page of scores.
HWY_INLINE void add_biases(float* scores, size_t n_keys, float distance, const float* middle,
                           uint32_t reach) {
  const auto far = static_cast<ptrdiff_t>(reach);
  const auto before = static_cast<ptrdiff_t>(distance);
  for (size_t i = 0; i < n_keys; ++i)
    scores[i] += middle[std::clamp(static_cast<ptrdiff_t>(i) - before, -far, far)];
}

// Scores to weights in place; partial = {largest, sum, ..} moves on; returns what earlier results
// are multiplied by.
HWY_INLINE float soften_page(float* scores, size_t n_keys, float cap, float* partial) {
  const hn::CappedTag<float, kPageTokens> d;
  const size_t lanes = hn::Lanes(d);
  std::fill(scores + n_keys, scores + kPageTokens, -FLT_MAX);
  if (cap > 0) {
    for (size_t i = 0; i < n_keys; i += lanes) {
      const size_t left = HWY_MIN(lanes, n_keys - i);
      hn::StoreN(softcap(d, hn::LoadN(d, scores + i, left), cap), d, scores + i, left);
    }
  }
  auto most = hn::Set(d, partial[0]);
  for (size_t i = 0; i < kPageTokens; i += lanes) most = hn::Max(most, hn::LoadU(d, scores + i));
  const float largest = hn::ReduceMax(d, most);
  auto sum = hn::Zero(d);
  for (size_t i = 0; i < kPageTokens; i += lanes) {
    const auto weight = exp_weight(d, hn::Sub(hn::LoadU(d, scores + i), hn::Set(d, largest)));
    sum = hn::Add(sum, weight);
    hn::StoreU(weight, d, scores + i);
  }
  const float factor = hn::GetLane(exp_weight(d, hn::Set(d, partial[0] - largest)));
  partial[0] = largest;
  partial[1] = partial[1] * factor + hn::ReduceSum(d, sum);
  return factor;
}

template <int kHeads>
HWY_INLINE void page_heads(const AttentionJob& job, const float* q, const float* k, const float* v,
                           size_t n_keys, uint32_t head, float distance, float* partial) {
  const AttentionCpuArgs& args = job.args;
  const size_t head_dim = args.kv.head_dim;
  const size_t v_dim = job.v_dim;
  float scores[static_cast<size_t>(kHeads) * kPageTokens];
  float factor[kHeads];
  score_page<kHeads>(q, k, n_keys, head_dim, args.scale, scores);
  for (int h = 0; h < kHeads; ++h) {
    if (args.max_alibi_bias > 0) {
      subtract_distances(
          scores + static_cast<size_t>(h) * kPageTokens, n_keys, distance,
          alibi_slope(args.max_alibi_bias, args.n_heads, head + static_cast<uint32_t>(h)));
    }
    if (args.biases) {
      const size_t n = 2 * size_t{args.bias_reach} + 1;
      const float* const middle =
          args.biases + (head + static_cast<size_t>(h)) * n + args.bias_reach;
      add_biases(scores + static_cast<size_t>(h) * kPageTokens, n_keys, distance, middle,
                 args.bias_reach);
    }
    factor[h] = soften_page(scores + static_cast<size_t>(h) * kPageTokens, n_keys, args.softcap,
                            partial + static_cast<size_t>(h) * (v_dim + 2));
  }
  weigh_page<kHeads>(scores, factor, v, n_keys, head_dim, v_dim, partial + 2);
}

void row_item(const AttentionJob& job, uint32_t token, uint32_t kv_head, KeyRange keys,
              bool is_first, float* work, float* partial) {
  const AttentionCpuArgs& args = job.args;
  const size_t head_dim = args.kv.head_dim;
  const size_t step = size_t{job.v_dim} + 2;
  std::fill(partial, partial + job.group * step, 0.0f);
  for (uint32_t h = 0; h < job.group; ++h) {
    const bool has_sink = args.sinks != nullptr && is_first;
    partial[h * step] = has_sink ? args.sinks[kv_head * job.group + h] : -1e30f;
    partial[h * step + 1] = has_sink ? 1.0f : 0.0f;
  }
  const float* q = args.q + (size_t{token} * args.n_heads + kv_head * job.group) * head_dim;
  const uint32_t* pages = pages_of(args, token);
  for (uint32_t first = keys.first; first < keys.end;) {
    const uint32_t next = HWY_MIN((first / kPageTokens + 1) * kPageTokens, keys.end);
    const size_t n_keys = next - first;
    const uint64_t row = kv_row(args.kv, pages[first / kPageTokens], kv_head, first % kPageTokens);
    const float* k = load_kv_rows(args.kv, args.k_cache, row, n_keys, work);
    const float* v = args.v_cache == args.k_cache ? k
                                                  : load_kv_rows(args.kv, args.v_cache, row, n_keys,
                                                                 work + kPageTokens * head_dim);
    const float distance =
        static_cast<float>(args.step.positions[token]) - static_cast<float>(first);
    const auto heads = [&]<int kHeads>(uint32_t h) HWY_ATTR {
      page_heads<kHeads>(job, q + h * head_dim, k, v, n_keys, kv_head * job.group + h, distance,
                         partial + h * step);
    };
    uint32_t h = 0;
    for (; h + 4 <= job.group; h += 4) heads.template operator()<4>(h);
    if (job.group - h == 3) heads.template operator()<3>(h);
    if (job.group - h == 2) heads.template operator()<2>(h);
    if (job.group - h == 1) heads.template operator()<1>(h);
    first = next;
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(row_item);

void attention_row(const AttentionJob& job, uint32_t token, uint32_t kv_head, KeyRange keys,
                   bool is_first, float* work, float* partial) {
  HWY_DYNAMIC_DISPATCH(row_item)(job, token, kv_head, keys, is_first, work, partial);
}

}  // namespace puna::kernels
#endif
