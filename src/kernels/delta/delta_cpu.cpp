// The gated delta rule on the CPU: a few rows of a head's state are one thread's for a whole run,
// so that they stay in its first-level cache; vectors run along the key.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "kernels/delta/delta.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/delta/delta_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float dot(const float* a, const float* b, size_t n) {
  const hn::ScalableTag<float> d;
  auto sum = hn::Zero(d);
  for (size_t i = 0; i < n; i += hn::Lanes(d))
    sum = hn::MulAdd(hn::LoadN(d, a + i, n - i), hn::LoadN(d, b + i, n - i), sum);
  return hn::ReduceSum(d, sum);
}

// S . k and S . q in one pass.
struct Products {
  float k, q;
};
HWY_INLINE Products dots(const float* row, const float* k, const float* q, size_t n) {
  const hn::ScalableTag<float> d;
  auto sum_k = hn::Zero(d);
  auto sum_q = hn::Zero(d);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto v = hn::LoadN(d, row + i, n - i);
    sum_k = hn::MulAdd(v, hn::LoadN(d, k + i, n - i), sum_k);
    sum_q = hn::MulAdd(v, hn::LoadN(d, q + i, n - i), sum_q);
  }
  return {hn::ReduceSum(d, sum_k), hn::ReduceSum(d, sum_q)};
}

// row = decay * row + change * k
HWY_INLINE void change_row(float* row, const float* k, size_t n, float decay, float change) {
  const hn::ScalableTag<float> d;
  const auto keep = hn::Set(d, decay);
  const auto add = hn::Set(d, change);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t left = n - i;
    const auto v = hn::Mul(keep, hn::LoadN(d, row + i, left));
    hn::StoreN(hn::MulAdd(add, hn::LoadN(d, k + i, left), v), d, row + i, left);
  }
}

// Values [first, first + n) of a head, over the run [begin, end).
void delta_rows(const DeltaCpuArgs& args, uint32_t begin, uint32_t end, uint32_t head,
                uint32_t first, uint32_t n) {
  const DeltaShape& s = args.shape;
  const size_t column = size_t{head} * s.value_dim + first;
  float* state = args.state + args.step.sequences[begin] * s.state_floats() + column * s.key_dim;
  if (args.step.positions[begin] == 0) std::memset(state, 0, size_t{n} * s.key_dim * sizeof(float));
  for (uint32_t t = begin; t < end; ++t) {
    const float* qkv = args.qkv + size_t{t} * s.qkv_columns();
    const float* in = args.in + size_t{t} * s.in_stride + s.offset(head);
    const float* q = qkv + size_t{s.key_head(head)} * s.key_dim;
    const float* k = q + s.key_columns();
    const float* values = qkv + 2 * size_t{s.key_columns()} + column;
    const float k_length = 1.0f / std::sqrt(dot(k, k, s.key_dim) + s.eps);
    const float q_length =
        1.0f / std::sqrt((dot(q, q, s.key_dim) + s.eps) * static_cast<float>(s.key_dim));
    const float kq = dot(k, q, s.key_dim);
    const float alpha = in[s.alpha_column] + args.dt_bias[head];
    const float rate = std::max(alpha, 0.0f) + std::log1p(std::exp(-std::fabs(alpha)));
    const float decay = std::exp(args.a[head] * rate);
    const float beta = 1.0f / (1.0f + std::exp(-in[s.beta_column]));
    for (uint32_t v = 0; v < n; ++v) {
      float* row = state + size_t{v} * s.key_dim;
      const Products old = dots(row, k, q, s.key_dim);
      const float change = beta * (values[v] - decay * old.k * k_length) * k_length;
      change_row(row, k, s.key_dim, decay, change);
      args.y[size_t{t} * s.value_columns() + column + v] = (decay * old.q + change * kq) * q_length;
    }
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(delta_rows);

namespace {
constexpr uint32_t kRowsEach = 32;  // rows of state: 16 KiB at keys of 128
}  // namespace

void delta_cpu(base::ThreadPool& pool, const DeltaCpuArgs& args) {
  const DeltaShape& s = args.shape;
  const uint32_t n_blocks = (s.value_dim + kRowsEach - 1) / kRowsEach;
  for_each_run(args.step, [&](uint32_t begin, uint32_t end) {
    const auto blocks = [&](uint32_t first_block, uint32_t end_block) {
      for (uint32_t i = first_block; i < end_block; ++i) {
        const uint32_t first = i % n_blocks * kRowsEach;
        HWY_DYNAMIC_DISPATCH(delta_rows)
        (args, begin, end, i / n_blocks, first, std::min(kRowsEach, s.value_dim - first));
      }
    };
    pool.run(s.n_value_heads * n_blocks, 1, std::ref(blocks));
  });
}

}  // namespace puna::kernels
#endif
