// Functions of one element on the CPU.
#include <algorithm>
#include <functional>
#include <limits>

#include "kernels/elementwise/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/unary_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

// Infinite from about 88.8 on; hn::Exp and hn::Expm1 take up to 104.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_any(D d, V v) {
  return hn::Exp(d, hn::Min(v, hn::Set(d, 104.0f)));
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V expm1_any(D d, V v) {
  return hn::Expm1(d, hn::Min(v, hn::Set(d, 104.0f)));
}

// hn::Log of positive finite numbers, and what C gives for the others.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_any(D d, V v) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  V result = hn::Log(d, v);
  result = hn::IfThenElse(hn::Eq(v, hn::Zero(d)), hn::Set(d, -kInfinity), result);
  result = hn::IfThenElse(hn::Eq(v, hn::Set(d, kInfinity)), v, result);
  return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::NaN(d), result);
}

// hn::Round takes halves to the even neighbour.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V round_away(D d, V v) {
  const V whole = hn::Trunc(v);
  const auto up = hn::Ge(hn::Abs(hn::Sub(v, whole)), hn::Set(d, 0.5f));
  return hn::IfThenElse(up, hn::Add(whole, hn::CopySign(hn::Set(d, 1.0f), v)), whole);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V above_zero(D d, V v, V then, V otherwise) {
  return hn::IfThenElse(hn::Gt(v, hn::Zero(d)), then, otherwise);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V hard_sigmoid(D d, V v) {
  const V sixths = hn::Mul(hn::Add(v, hn::Set(d, 3.0f)), hn::Set(d, 1.0f / 6));
  return hn::Min(hn::Max(sixths, hn::Zero(d)), hn::Set(d, 1.0f));
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V softplus(D d, V v) {
  const V small = hn::Log1p(d, hn::Exp(d, hn::Neg(hn::Abs(v))));
  return hn::Add(hn::Max(v, hn::Zero(d)), small);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V xielu(D d, V v, const float* with) {
  const V above = hn::Mul(hn::Mul(hn::Set(d, with[0]), v), v);
  const V below =
      hn::Mul(hn::Set(d, with[1]), hn::Sub(expm1_any(d, hn::Min(v, hn::Set(d, with[3]))), v));
  return hn::MulAdd(hn::Set(d, with[2]), v, above_zero(d, v, above, below));
}

// use(function) with the function object of a name, so that the choice lies outside loops.
template <class Use>
HWY_INLINE void with_unary(Unary function, const float* with, const Use& use) {
  switch (function) {
    case Unary::kAbs:
      return use([](auto, auto v) HWY_ATTR { return hn::Abs(v); });
    case Unary::kNegate:
      return use([](auto, auto v) HWY_ATTR { return hn::Neg(v); });
    case Unary::kSign:
      return use([](auto d, auto v) HWY_ATTR {
        const auto below = hn::IfThenElseZero(hn::Lt(v, hn::Zero(d)), hn::Set(d, -1.0f));
        return above_zero(d, v, hn::Set(d, 1.0f), below);
      });
    case Unary::kStep:
      return use([](auto d, auto v)
                     HWY_ATTR { return above_zero(d, v, hn::Set(d, 1.0f), hn::Zero(d)); });
    case Unary::kFill:
      return use([with](auto d, auto) HWY_ATTR { return hn::Set(d, with[0]); });
    case Unary::kClamp:
      return use([with](auto d, auto v) HWY_ATTR {
        return hn::Min(hn::Max(v, hn::Set(d, with[0])), hn::Set(d, with[1]));
      });
    case Unary::kSquare:
      return use([](auto, auto v) HWY_ATTR { return hn::Mul(v, v); });
    case Unary::kSqrt:
      return use([](auto, auto v) HWY_ATTR { return hn::Sqrt(v); });
    case Unary::kExp:
      return use([](auto d, auto v) HWY_ATTR { return exp_any(d, v); });
    case Unary::kExpm1:
      return use([](auto d, auto v) HWY_ATTR { return expm1_any(d, v); });
    case Unary::kLog:
      return use([](auto d, auto v) HWY_ATTR { return log_any(d, v); });
    case Unary::kSin:
      return use([](auto d, auto v) HWY_ATTR { return hn::Sin(d, v); });
    case Unary::kCos:
      return use([](auto d, auto v) HWY_ATTR { return hn::Cos(d, v); });
    // The sign of the argument is that of the result too, which not every target keeps of a zero.
    case Unary::kCeil:
      return use([](auto, auto v) HWY_ATTR { return hn::CopySign(hn::Ceil(v), v); });
    case Unary::kFloor:
      return use([](auto, auto v) HWY_ATTR { return hn::CopySign(hn::Floor(v), v); });
    case Unary::kRound:
      return use([](auto d, auto v) HWY_ATTR { return hn::CopySign(round_away(d, v), v); });
    case Unary::kTrunc:
      return use([](auto, auto v) HWY_ATTR { return hn::CopySign(hn::Trunc(v), v); });
    case Unary::kElu:
      return use([](auto d, auto v) HWY_ATTR { return above_zero(d, v, v, expm1_any(d, v)); });
    case Unary::kXielu:
      return use([with](auto d, auto v) HWY_ATTR { return xielu(d, v, with); });
    case Unary::kSigmoid:
      return use([](auto d, auto v) HWY_ATTR { return gate_by_logistic(d, hn::Set(d, 1.0f), v); });
    case Unary::kHardSigmoid:
      return use([](auto d, auto v) HWY_ATTR { return hard_sigmoid(d, v); });
    case Unary::kHardSwish:
      return use([](auto d, auto v) HWY_ATTR { return hn::Mul(v, hard_sigmoid(d, v)); });
    case Unary::kSoftplus:
      return use([](auto d, auto v) HWY_ATTR { return softplus(d, v); });
    case Unary::kRelu:
      return with_activation(Activation::kRelu, use);
    case Unary::kSilu:
      return with_activation(Activation::kSilu, use);
    case Unary::kGeluTanh:
      return with_activation(Activation::kGeluTanh, use);
    case Unary::kGeluErf:
      // Below -16 nothing is left of it; the tail in gelu_erf stays above zero.
      return use([](auto d, auto v)
                     HWY_ATTR { return gelu_erf(d, hn::Max(v, hn::Set(d, -16.0f))); });
    case Unary::kGeluQuick:
      return with_activation(Activation::kGeluQuick, use);
    case Unary::kTanh:
      return with_activation(Activation::kTanh, use);
  }
}

void unary_range(float* y, size_t n, const UnaryShape& shape) {
  with_unary(shape.function, shape.with.data(), [&](auto function) HWY_ATTR {
    const hn::ScalableTag<float> d;
    const size_t lanes = hn::Lanes(d);
    for (size_t i = 0; i < n; i += lanes)
      hn::StoreN(function(d, hn::LoadN(d, y + i, n - i)), d, y + i, n - i);
  });
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(unary_range);

void unary_cpu(base::ThreadPool& pool, const UnaryCpuArgs& args) {
  constexpr uint64_t kBlock = 4096;  // elements, so that only the last block has a tail
  const uint64_t n = uint64_t{args.n_rows} * args.shape.n;
  const auto blocks = [&](uint32_t begin, uint32_t end) {
    const uint64_t first = begin * kBlock, last = std::min(end * kBlock, n);
    HWY_DYNAMIC_DISPATCH(unary_range)(args.y + first, static_cast<size_t>(last - first),
                                      args.shape);
  };
  pool.run(static_cast<uint32_t>((n + kBlock - 1) / kBlock), 1, std::ref(blocks));
}

}  // namespace puna::kernels
#endif
