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
#include "kernels/common/activation.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// exp(v) for v <= 0, 0 where it would be subnormal: products with subnormal softmax weights cost
// 100 times a normal one's time.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_weight(D d, V v) {
  return hn::IfThenElseZero(hn::Ge(v, hn::Set(d, -87.0f)), hn::Exp(d, v));
}

// v / (1 + exp(-scaled)); the bound makes exp infinite, not invalid.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gate_by_logistic(D d, V v, V scaled) {
  return hn::Div(
      v, hn::Add(hn::Set(d, 1.0f), hn::Exp(d, hn::Min(hn::Neg(scaled), hn::Set(d, 100.0f)))));
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
HWY_INLINE V gelu_quick(D d, V v) {
  return gate_by_logistic(d, v, hn::Mul(v, hn::Set(d, 1.702f)));
}

// v * (normal distribution function of v) by Abramowitz and Stegun 7.1.26, right to 1.5e-7 of |v|:
// its tail is (a polynomial in 1 / (1 + p a)) * exp(-a^2) with a = |v| / sqrt(2).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V gelu_erf(D d, V v) {
  const V one = hn::Set(d, 1.0f);
  const V a = hn::Min(hn::Mul(hn::Abs(v), hn::Set(d, 0.70710678f)), hn::Set(d, 9.3f));
  const V t = hn::Div(one, hn::MulAdd(a, hn::Set(d, 0.3275911f), one));
  V polynomial = hn::MulAdd(t, hn::Set(d, 1.061405429f), hn::Set(d, -1.453152027f));
  polynomial = hn::MulAdd(t, polynomial, hn::Set(d, 1.421413741f));
  polynomial = hn::MulAdd(t, polynomial, hn::Set(d, -0.284496736f));
  polynomial = hn::MulAdd(t, polynomial, hn::Set(d, 0.254829592f));
  const V tail = hn::Mul(hn::Mul(hn::Mul(t, polynomial), hn::Set(d, 0.5f)),
                         hn::Exp(d, hn::Neg(hn::Mul(a, a))));
  return hn::Mul(v, hn::IfNegativeThenElse(v, tail, hn::Sub(one, tail)));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V relu(D d, V v) {
  return hn::Max(v, hn::Zero(d));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V relu_squared(D d, V v) {
  return hn::Mul(relu(d, v), relu(d, v));
}

// use(function) with the function object of an activation, so that the choice lies outside loops.
template <class Use>
HWY_INLINE void with_activation(Activation activation, const Use& use) {
  switch (activation) {
    case Activation::kSilu:
      return use([](auto d, auto v) HWY_ATTR { return silu(d, v); });
    case Activation::kGeluTanh:
      return use([](auto d, auto v) HWY_ATTR { return gelu_tanh(d, v); });
    case Activation::kGeluErf:
      return use([](auto d, auto v) HWY_ATTR { return gelu_erf(d, v); });
    case Activation::kRelu:
      return use([](auto d, auto v) HWY_ATTR { return relu(d, v); });
    case Activation::kReluSquared:
      return use([](auto d, auto v) HWY_ATTR { return relu_squared(d, v); });
    case Activation::kTanh:
      return use([](auto d, auto v) HWY_ATTR { return hn::Tanh(d, v); });
    case Activation::kGeluQuick:
      return use([](auto d, auto v) HWY_ATTR { return gelu_quick(d, v); });
  }
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V softcap(D d, V v, float cap) {
  return hn::Mul(hn::Set(d, cap), hn::Tanh(d, hn::Mul(v, hn::Set(d, 1.0f / cap))));
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
