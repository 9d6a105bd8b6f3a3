// A tile of query rows against all the keys it sees, a page at a time. Query rows lie across the
// vector lanes: scores, weights and results are kept transposed, so that softmax needs no sums
// across lanes, K and V are read as they lie in the cache, and each converted page serves the whole
// tile.
//   S^T[key][q] = K[key] . Q[q]      O^T[d][q] += sum over keys of V[key][d] P^T[key][q]
#include <algorithm>
#include <cfloat>

#include "kernels/attention/attention_job.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_tile_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/kv-inl.h"
#include "kernels/common/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

using DQ = hn::CappedTag<float, 16>;
using VQ = hn::Vec<DQ>;
constexpr size_t kQ = hn::MaxLanes(DQ());
// Score of a key that a row does not see; below what any running maximum starts from, so that its
// weight is exactly 0.
constexpr float kHidden = -FLT_MAX;
constexpr float kLowest = -1e30f;

// c[m][0..kCols vectors) = start + sum over k of a[m * a_row + k * a_col] * b[k][..] for kRows rows
// m. b and c have rows of `stride` floats; `factor` (or 1 when null) multiplies the start, which is
// c itself.
template <int kRows, int kCols, bool kStartFromC>
HWY_INLINE void multiply_block(const float* a, size_t a_row, size_t a_col, const float* b, float* c,
                               size_t stride, size_t n_k, const float* factor) {
  const DQ d;
  VQ sum[kRows][kCols];
  for (int m = 0; m < kRows; ++m) {
    for (int j = 0; j < kCols; ++j) {
      const size_t at = static_cast<size_t>(j) * kQ;
      sum[m][j] = kStartFromC ? hn::Mul(hn::Load(d, c + static_cast<size_t>(m) * stride + at),
                                        hn::Load(d, factor + at))
                              : hn::Zero(d);
    }
  }
  for (size_t k = 0; k < n_k; ++k) {
    VQ row[kCols];
    for (int j = 0; j < kCols; ++j)
      row[j] = hn::Load(d, b + k * stride + static_cast<size_t>(j) * kQ);
    for (int m = 0; m < kRows; ++m) {
      const VQ value = hn::Set(d, a[static_cast<size_t>(m) * a_row + k * a_col]);
      for (int j = 0; j < kCols; ++j) sum[m][j] = hn::MulAdd(value, row[j], sum[m][j]);
    }
  }
  for (int m = 0; m < kRows; ++m) {
    for (int j = 0; j < kCols; ++j)
      hn::Store(sum[m][j], d, c + static_cast<size_t>(m) * stride + static_cast<size_t>(j) * kQ);
  }
}

#if HWY_TARGET <= HWY_AVX3_DL && HWY_ARCH_X86
constexpr int kWide = 4;  // 16 sums of 32 registers
#else
constexpr int kWide = 2;
#endif

// The same for n_m rows (any number) and `stride` columns (a multiple of kQ).
template <bool kStartFromC>
HWY_INLINE void multiply(const float* a, size_t a_row, size_t a_col, size_t n_m, const float* b,
                         float* c, size_t stride, size_t n_k, const float* factor) {
  for (size_t j = 0; j < stride;) {
    const bool wide = j + kWide * kQ <= stride;
    const float* f = factor ? factor + j : nullptr;
    size_t m = 0;
    for (; m + 4 <= n_m; m += 4) {
      const float* am = a + m * a_row;
      float* cm = c + m * stride + j;
      wide ? multiply_block<4, kWide, kStartFromC>(am, a_row, a_col, b + j, cm, stride, n_k, f)
           : multiply_block<4, 1, kStartFromC>(am, a_row, a_col, b + j, cm, stride, n_k, f);
    }
    for (; m < n_m; ++m) {
      const float* am = a + m * a_row;
      float* cm = c + m * stride + j;
      wide ? multiply_block<1, kWide, kStartFromC>(am, a_row, a_col, b + j, cm, stride, n_k, f)
           : multiply_block<1, 1, kStartFromC>(am, a_row, a_col, b + j, cm, stride, n_k, f);
    }
    j += wide ? kWide * kQ : kQ;
  }
}

// One thread's memory for a tile, all arrays [..][stride] with query rows innermost.
struct Tile {
  size_t stride;   // query rows, padded to whole vectors
  float* queries;  // [head_dim]
  float* results;  // [head_dim]
  float* scores;   // [kPageTokens]
  float* largest;  // running maximum of the scores
  float* sum;      // running sum of the weights
  float* factor;   // what earlier results are multiplied by
  float* first;    // first and last position that a row sees
  float* last;
  float* position;  // a row's own, with ALiBi or biases
  float* of_head;   // the slope of a row's head, or where its bias for no distance lies
  float* k;         // a page of K and V as f32
  float* v;
};

HWY_INLINE Tile lay_out(float* work, size_t n_rows, size_t head_dim) {
  Tile tile;
  tile.stride = (n_rows + kQ - 1) / kQ * kQ;
  tile.queries = work;
  tile.results = tile.queries + head_dim * tile.stride;
  tile.scores = tile.results + head_dim * tile.stride;
  tile.largest = tile.scores + kPageTokens * tile.stride;
  tile.sum = tile.largest + tile.stride;
  tile.factor = tile.sum + tile.stride;
  tile.first = tile.factor + tile.stride;
  tile.last = tile.first + tile.stride;
  tile.position = tile.last + tile.stride;
  tile.of_head = tile.position + tile.stride;
  tile.k = tile.of_head + tile.stride;
  tile.v = tile.k + kPageTokens * head_dim;
  return tile;
}

// Takes ALiBi's share off the scores of keys first .. first + n_keys.
HWY_INLINE void subtract_distances(const Tile& tile, uint32_t first, size_t n_keys) {
  const DQ d;
  for (size_t j = 0; j < tile.stride; j += kQ) {
    const VQ position = hn::Load(d, tile.position + j), slope = hn::Load(d, tile.of_head + j);
    for (size_t i = 0; i < n_keys; ++i) {
      float* at = tile.scores + i * tile.stride + j;
      const VQ key = hn::Set(d, static_cast<float>(first + i));
      hn::Store(hn::NegMulAdd(slope, hn::AbsDiff(key, position), hn::Load(d, at)), d, at);
    }
  }
}

// Adds the biases by distance to the scores of keys first .. first + n_keys.
HWY_INLINE void add_biases(const AttentionCpuArgs& args, const Tile& tile, uint32_t first,
                           size_t n_keys) {
  const DQ d;
  const hn::RebindToSigned<DQ> di;
  const VQ reach = hn::Set(d, static_cast<float>(args.bias_reach));
  for (size_t j = 0; j < tile.stride; j += kQ) {
    const VQ position = hn::Load(d, tile.position + j), middle = hn::Load(d, tile.of_head + j);
    for (size_t i = 0; i < n_keys; ++i) {
      float* at = tile.scores + i * tile.stride + j;
      const VQ distance = hn::Sub(hn::Set(d, static_cast<float>(first + i)), position);
      const VQ near = hn::Max(hn::Min(distance, reach), hn::Neg(reach));
      const auto index = hn::ConvertTo(di, hn::Add(middle, near));
      hn::Store(hn::Add(hn::GatherIndex(d, args.biases, index), hn::Load(d, at)), d, at);
    }
  }
}

// Turns the scores of keys first .. first + n_keys into weights and moves the running statistics
// on.
template <bool kMasked>
HWY_INLINE void soften(const AttentionCpuArgs& args, const Tile& tile, uint32_t first,
                       size_t n_keys) {
  const DQ d;
  for (size_t j = 0; j < tile.stride; j += kQ) {
    const VQ before = hn::Load(d, tile.largest + j);
    VQ largest = before;
    for (size_t i = 0; i < n_keys; ++i) {
      float* at = tile.scores + i * tile.stride + j;
      VQ score = hn::Load(d, at);
      if (args.softcap > 0) score = softcap(d, score, args.softcap);
      if constexpr (kMasked) {
        const VQ last = hn::Load(d, tile.last + j);
        const VQ key = hn::Set(d, static_cast<float>(first + i));
        auto hidden = hn::Gt(key, last);
        if (args.window != 0) hidden = hn::Or(hidden, hn::Lt(key, hn::Load(d, tile.first + j)));
        score = hn::IfThenElse(hidden, hn::Set(d, kHidden), score);
      }
      if (kMasked || args.softcap > 0) hn::Store(score, d, at);
      largest = hn::Max(largest, score);
    }
    const VQ factor = exp_weight(d, hn::Sub(before, largest));
    VQ sum = hn::Mul(hn::Load(d, tile.sum + j), factor);
    for (size_t i = 0; i < n_keys; ++i) {
      float* at = tile.scores + i * tile.stride + j;
      const VQ weight = exp_weight(d, hn::Sub(hn::Load(d, at), largest));
      sum = hn::Add(sum, weight);
      hn::Store(weight, d, at);
    }
    hn::Store(largest, d, tile.largest + j);
    hn::Store(sum, d, tile.sum + j);
    hn::Store(factor, d, tile.factor + j);
  }
}

// Row r of a tile is head r % group of its token r / group.
void tile_item(const AttentionJob& job, uint32_t begin, uint32_t end, uint32_t kv_head,
               float* work) {
  const AttentionCpuArgs& args = job.args;
  const size_t head_dim = args.kv.head_dim;
  const size_t n_rows = size_t{end - begin} * job.group;
  const Tile tile = lay_out(work, n_rows, head_dim);
  std::fill(tile.queries, tile.queries + head_dim * tile.stride, 0.0f);
  std::fill(tile.results, tile.results + size_t{job.v_dim} * tile.stride, 0.0f);
  for (size_t r = 0; r < tile.stride; ++r) {
    tile.largest[r] = args.sinks ? args.sinks[kv_head * job.group + r % job.group] : kLowest;
    tile.sum[r] = args.sinks ? 1.0f : 0.0f;
  }
  // Of own keys all three stand in one row.
  const size_t own_stride = (args.n_heads + 2 * size_t{args.kv.n_kv_heads}) * head_dim;
  const size_t q_stride = args.own ? own_stride : args.n_heads * head_dim;
  const size_t kv_stride = args.own ? own_stride : head_dim;
  KeyRange all{UINT32_MAX, 0};     // seen by any row
  KeyRange common{0, UINT32_MAX};  // seen by every row
  for (size_t r = 0; r < tile.stride; ++r) {
    const uint32_t token = begin + static_cast<uint32_t>(std::min(r, n_rows - 1)) / job.group;
    const KeyRange keys = key_range(args, token);
    all = {std::min(all.first, keys.first), std::max(all.end, keys.end)};
    common = {std::max(common.first, keys.first), std::min(common.end, keys.end)};
    tile.first[r] = static_cast<float>(keys.first);
    tile.last[r] = static_cast<float>(keys.end - 1);
    if (args.max_alibi_bias > 0 || args.biases) {
      const uint32_t head = kv_head * job.group + static_cast<uint32_t>(r % job.group);
      tile.position[r] = static_cast<float>(args.step.positions[token]);
      tile.of_head[r] = args.biases
                            ? static_cast<float>(head * (2 * args.bias_reach + 1) + args.bias_reach)
                            : alibi_slope(args.max_alibi_bias, args.n_heads, head);
    }
    if (r >= n_rows) continue;
    const size_t head = kv_head * job.group + r % job.group;
    const float* q = args.q + token * q_stride + head * head_dim;
    for (size_t i = 0; i < head_dim; ++i) tile.queries[i * tile.stride + r] = q[i] * args.scale;
  }
  const uint32_t* pages = args.own ? nullptr : pages_of(args, begin);
  for (uint32_t first = all.first; first < all.end;) {
    // Own keys have no pages, and a tile of an encoder's gives the same wherever it stands.
    const uint32_t page_end =
        args.own ? first + kPageTokens : (first / kPageTokens + 1) * kPageTokens;
    const uint32_t next = std::min(page_end, all.end);
    const size_t n_keys = next - first;
    const uint64_t row =
        args.own ? 0 : kv_row(args.kv, pages[first / kPageTokens], kv_head, first % kPageTokens);
    const float* k = args.own
                         ? args.q + first * own_stride + (args.n_heads + size_t{kv_head}) * head_dim
                         : load_kv_rows(args.kv, args.k_cache, row, n_keys, tile.k);
    multiply<false>(k, kv_stride, 1, n_keys, tile.queries, tile.scores, tile.stride, head_dim,
                    nullptr);
    if (args.max_alibi_bias > 0) subtract_distances(tile, first, n_keys);
    if (args.biases) add_biases(args, tile, first, n_keys);
    const bool masked = first < common.first || next > common.end;
    masked ? soften<true>(args, tile, first, n_keys) : soften<false>(args, tile, first, n_keys);
    const float* v = args.own ? k + size_t{args.kv.n_kv_heads} * head_dim
                     : args.v_cache == args.k_cache
                         ? k
                         : load_kv_rows(args.kv, args.v_cache, row, n_keys, tile.v);
    multiply<true>(v, 1, kv_stride, job.v_dim, tile.scores, tile.results, tile.stride, n_keys,
                   tile.factor);
    first = next;
  }
  for (size_t r = 0; r < n_rows; ++r) {
    const size_t head = kv_head * job.group + r % job.group;
    float* out = args.out + ((begin + r / job.group) * args.n_heads + head) * job.v_dim;
    const float inverse = 1.0f / tile.sum[r];
    for (size_t i = 0; i < job.v_dim; ++i) out[i] = tile.results[i * tile.stride + r] * inverse;
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(tile_item);

void attention_tile(const AttentionJob& job, uint32_t begin, uint32_t end, uint32_t kv_head,
                    float* work) {
  HWY_DYNAMIC_DISPATCH(tile_item)(job, begin, end, kv_head, work);
}

}  // namespace puna::kernels
#endif
