// Vector passes over one row, shared by the norm and rope roles. Rows have any length; tails are
// loaded masked.
#if defined(PUNA_KERNELS_NORM_NORM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PUNA_KERNELS_NORM_NORM_INL_H
#undef PUNA_KERNELS_NORM_NORM_INL_H
#else
#define PUNA_KERNELS_NORM_NORM_INL_H
#endif

#include <cmath>
#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE double sum_of_squares(const float* v, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto a = hn::LoadU(d, v + i);
    const auto b = hn::LoadU(d, v + i + lanes);
    sum0 = hn::MulAdd(a, a, sum0);
    sum1 = hn::MulAdd(b, b, sum1);
  }
  for (; i < n; i += lanes) {
    const auto a = hn::LoadN(d, v + i, n - i);
    sum0 = hn::MulAdd(a, a, sum0);
  }
  return static_cast<double>(hn::ReduceSum(d, hn::Add(sum0, sum1)));
}

// 1 / sqrt(mean(v^2) + eps)
HWY_INLINE float inverse_rms(const float* v, size_t n, float eps) {
  const double mean = sum_of_squares(v, n) / static_cast<double>(n);
  return static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(eps)));
}

// out = v * s * gamma; out may be v.
HWY_INLINE void scale_by(const float* v, const float* gamma, float s, float* out, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, s);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, v + i), factor), hn::LoadU(d, gamma + i)), d, out + i);
  }
  if (i < n) {
    const auto scaled =
        hn::Mul(hn::Mul(hn::LoadN(d, v + i, n - i), factor), hn::LoadN(d, gamma + i, n - i));
    hn::StoreN(scaled, d, out + i, n - i);
  }
}

// out = v * s; out may be v.
HWY_INLINE void scale_all(const float* v, float s, float* out, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t left = HWY_MIN(lanes, n - i);
    hn::StoreN(hn::Mul(hn::LoadN(d, v + i, left), hn::Set(d, s)), d, out + i, left);
  }
}

// out += v * s * gamma (gamma may be null: 1)
HWY_INLINE void add_scaled(const float* v, const float* gamma, float s, float* out, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, s);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t left = HWY_MIN(lanes, n - i);
    auto value = hn::LoadN(d, v + i, left);
    if (gamma) value = hn::Mul(hn::Mul(value, factor), hn::LoadN(d, gamma + i, left));
    hn::StoreN(hn::Add(value, hn::LoadN(d, out + i, left)), d, out + i, left);
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
