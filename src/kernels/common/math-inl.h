// Vector forms of the functions that activations and softmax need, on Highway's math library (1 ulp
// for exp, 4 for tanh).
#if defined(PUNA_KERNELS_COMMON_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PUNA_KERNELS_COMMON_MATH_INL_H
#undef PUNA_KERNELS_COMMON_MATH_INL_H
#else
#define PUNA_KERNELS_COMMON_MATH_INL_H
#endif

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// exp(v) for v <= 0, 0 where it would be subnormal: products with subnormal softmax weights cost
// 100 times a normal one's time.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_weight(D d, V v) {
  return hn::IfThenElseZero(hn::Ge(v, hn::Set(d, -87.0f)), hn::Exp(d, v));
}

// v / (1 + exp(-scaled))
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gate_by_logistic(D d, V v, V scaled) {
  return hn::Div(
      v, hn::Add(hn::Set(d, 1.0f), hn::Exp(d, hn::Min(hn::Neg(scaled), hn::Set(d, 88.0f)))));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V silu(D d, V v) {
  return gate_by_logistic(d, v, v);
}

// 0.5 v (1 + tanh(u)) = v / (1 + exp(-2u)), u = sqrt(2 / pi) (v + 0.044715 v^3)
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_tanh(D d, V v) {
  const V cubic = hn::MulAdd(hn::Mul(v, v), hn::Set(d, 0.044715f), hn::Set(d, 1.0f));
  return gate_by_logistic(d, v, hn::Mul(hn::Mul(v, cubic), hn::Set(d, 1.5957691216057308f)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V softcap(D d, V v, float cap) {
  return hn::Mul(hn::Set(d, cap), hn::Tanh(d, hn::Mul(v, hn::Set(d, 1.0f / cap))));
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
