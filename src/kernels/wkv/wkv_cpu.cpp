// The recurrence of RWKV on the CPU: a head is one thread's for a whole run, so that its state
// stays in the thread's caches; vectors run along the key.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "kernels/wkv/wkv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/wkv/wkv_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid(D d, V v) {
  return gate_by_logistic(d, hn::Set(d, 1.0f), v);
}

// What all rows of a head's state need of a token.
struct WkvToken {
  alignas(64) float decay[kMaxWkvHeadDim];
  alignas(64) float key[kMaxWkvHeadDim];
  alignas(64) float removed[kMaxWkvHeadDim];  // u
  alignas(64) float added[kMaxWkvHeadDim];    // -rate * u
  float bonus;
};

// in: the token's columns of the head, of the part r.
HWY_INLINE void prepare_six(const WkvCpuArgs& args, const float* in, size_t first,
                            WkvToken& token) {
  const hn::ScalableTag<float> d;
  const size_t n = args.shape.head_dim, part = args.shape.n();
  auto bonus = hn::Zero(d);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t left = n - i;
    const auto constant = [&](size_t c) HWY_ATTR {
      return hn::LoadN(d, args.constants[c] + first + i, left);
    };
    const auto k = hn::LoadN(d, in + part + i, left);
    const auto w = hn::Add(constant(0), hn::LoadN(d, in + 2 * part + i, left));
    const auto rate = hn::Exp(d, hn::Min(w, hn::Set(d, 80.0f)));
    hn::StoreN(exp_weight(d, hn::Neg(rate)), d, token.decay + i, left);
    hn::StoreN(k, d, token.key + i, left);
    bonus = hn::MulAdd(hn::Mul(constant(1), hn::LoadN(d, in + i, left)), k, bonus);
  }
  token.bonus = hn::ReduceSum(d, bonus);
}

HWY_INLINE void prepare_seven(const WkvCpuArgs& args, const float* in, size_t first,
                              WkvToken& token) {
  const hn::ScalableTag<float> d;
  const size_t n = args.shape.head_dim, part = args.shape.n();
  const auto one = hn::Set(d, 1.0f);
  auto bonus = hn::Zero(d), squares = hn::Zero(d);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t left = n - i;
    const auto constant = [&](size_t c) HWY_ATTR {
      return hn::LoadN(d, args.constants[c] + first + i, left);
    };
    const auto column = [&](size_t p) HWY_ATTR { return hn::LoadN(d, in + p * part + i, left); };
    const auto k = column(1);
    const auto w = sigmoid(d, hn::Add(constant(0), column(2)));
    const auto rate = sigmoid(d, hn::Add(constant(2), column(3)));
    const auto u = hn::Mul(k, constant(3));
    const auto key = hn::Mul(k, hn::MulAdd(hn::Sub(rate, one), constant(4), one));
    hn::StoreN(exp_weight(d, hn::Mul(w, hn::Set(d, -kWkvMostDecay))), d, token.decay + i, left);
    hn::StoreN(key, d, token.key + i, left);
    hn::StoreN(u, d, token.removed + i, left);
    hn::StoreN(hn::Neg(hn::Mul(rate, u)), d, token.added + i, left);
    squares = hn::MulAdd(u, u, squares);
    bonus = hn::MulAdd(hn::Mul(constant(1), column(0)), key, bonus);
  }
  token.bonus = hn::ReduceSum(d, bonus);
  const float length = std::max(std::sqrt(hn::ReduceSum(d, squares)), kWkvLeastLength);
  const auto by = hn::Set(d, 1.0f / length);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t left = n - i;
    hn::StoreN(hn::Mul(hn::LoadN(d, token.removed + i, left), by), d, token.removed + i, left);
    hn::StoreN(hn::Mul(hn::LoadN(d, token.added + i, left), by), d, token.added + i, left);
  }
}

// Moves a row of state on by its value; gives its product with r, from before for the one rule and
// from after for the other.
HWY_INLINE float advance_six(float* row, const float* r, const WkvToken& token, float value,
                             size_t n) {
  const hn::ScalableTag<float> d;
  const auto v = hn::Set(d, value);
  auto sum = hn::Zero(d);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t left = n - i;
    const auto old = hn::LoadN(d, row + i, left);
    sum = hn::MulAdd(old, hn::LoadN(d, r + i, left), sum);
    const auto kept = hn::Mul(old, hn::LoadN(d, token.decay + i, left));
    hn::StoreN(hn::MulAdd(v, hn::LoadN(d, token.key + i, left), kept), d, row + i, left);
  }
  return hn::ReduceSum(d, sum);
}

HWY_INLINE float advance_seven(float* row, const float* r, const WkvToken& token, float value,
                               size_t n) {
  const hn::ScalableTag<float> d;
  auto known = hn::Zero(d), sum = hn::Zero(d);
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t left = n - i;
    known = hn::MulAdd(hn::LoadN(d, row + i, left), hn::LoadN(d, token.removed + i, left), known);
  }
  const auto v = hn::Set(d, value), change = hn::Set(d, hn::ReduceSum(d, known));
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t left = n - i;
    auto now = hn::Mul(hn::LoadN(d, row + i, left), hn::LoadN(d, token.decay + i, left));
    now = hn::MulAdd(change, hn::LoadN(d, token.added + i, left), now);
    now = hn::MulAdd(v, hn::LoadN(d, token.key + i, left), now);
    hn::StoreN(now, d, row + i, left);
    sum = hn::MulAdd(now, hn::LoadN(d, r + i, left), sum);
  }
  return hn::ReduceSum(d, sum);
}

// The values of a token's head.
HWY_INLINE void load_values(const WkvCpuArgs& args, const float* in, const float* values,
                            size_t first, float* out) {
  const hn::ScalableTag<float> d;
  const size_t n = args.shape.head_dim, part = args.shape.n();
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t left = n - i;
    auto v = hn::LoadN(d, values + i, left);
    if (args.shape.mixes_values) {
      const auto own = hn::LoadN(d, in + 4 * part + i, left);
      const auto bias = hn::LoadN(d, args.constants[5] + first + i, left);
      const auto mix = sigmoid(d, hn::Add(bias, hn::LoadN(d, in + 5 * part + i, left)));
      v = hn::MulAdd(hn::Sub(v, own), mix, own);
    }
    hn::StoreN(v, d, out + i, left);
  }
}

// The run [begin, end) of a head.
void wkv_head(const WkvCpuArgs& args, uint32_t begin, uint32_t end, uint32_t head) {
  const WkvShape& s = args.shape;
  const size_t n = s.head_dim, first = size_t{head} * n;
  float* state = args.state + args.step.sequences[begin] * s.state_floats() + first * n;
  if (args.step.positions[begin] == 0) std::memset(state, 0, n * n * sizeof(float));
  const bool seven = s.rule == WkvRule::kSeven;
  WkvToken token;
  alignas(64) float values[kMaxWkvHeadDim];
  for (size_t t = begin; t < end; ++t) {
    const float* in = args.in + t * s.in_stride + first;
    const size_t at = t * s.n() + first;
    load_values(args, in, args.values + at, first, values);
    if (seven) {
      prepare_seven(args, in, first, token);
      for (size_t i = 0; i < n; ++i) {
        args.y[at + i] = advance_seven(state + i * n, in, token, values[i], n);
        args.extra[at + i] = values[i] * token.bonus;
      }
    } else {
      prepare_six(args, in, first, token);
      for (size_t i = 0; i < n; ++i) {
        args.y[at + i] =
            advance_six(state + i * n, in, token, values[i], n) + values[i] * token.bonus;
      }
    }
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(wkv_head);

void wkv_cpu(base::ThreadPool& pool, const WkvCpuArgs& args) {
  for_each_run(args.step, [&](uint32_t begin, uint32_t end) {
    const auto heads = [&](uint32_t first, uint32_t last) {
      for (uint32_t h = first; h < last; ++h) HWY_DYNAMIC_DISPATCH(wkv_head)(args, begin, end, h);
    };
    pool.run(args.shape.n_heads, 1, std::ref(heads));
  });
}

}  // namespace puna::kernels
#endif
