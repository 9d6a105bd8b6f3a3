// Norms of parts of rows on the CPU: a part is read for its sums, then again (from the first-level
// cache) for the result.
#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/norm/norm_parts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/norm_parts_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/norm/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

HWY_INLINE float mean_of(const float* v, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d);
  for (size_t i = 0; i < n; i += lanes) sum = hn::Add(sum, hn::LoadN(d, v + i, n - i));
  return static_cast<float>(static_cast<double>(hn::ReduceSum(d, sum)) / static_cast<double>(n));
}

// out = v - mean; out may be v.
HWY_INLINE void subtract(const float* v, float mean, float* out, size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += lanes)
    hn::StoreN(hn::Sub(hn::LoadN(d, v + i, n - i), hn::Set(d, mean)), d, out + i, n - i);
}

// out = v * s * gamma + beta (1 and 0 when null); out may be v.
HWY_INLINE void finish(const float* v, float s, const float* gamma, const float* beta, float* out,
                       size_t n) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i < n; i += lanes) {
    const size_t left = n - i;
    auto value = hn::Mul(hn::LoadN(d, v + i, left), hn::Set(d, s));
    if (gamma) value = hn::Mul(value, hn::LoadN(d, gamma + i, left));
    if (beta) value = hn::Add(value, hn::LoadN(d, beta + i, left));
    hn::StoreN(value, d, out + i, left);
  }
}

// What each element of v is multiplied by.
HWY_INLINE float factor_of(const NormPartsShape& shape, const float* v) {
  if (shape.kind != NormKind::kL2) return inverse_rms(v, shape.n, shape.eps);
  const double length = std::sqrt(sum_of_squares(v, shape.n));
  return static_cast<float>(1.0 / std::max(length, static_cast<double>(shape.eps)));
}

// Part i of all rows' parts, counted through.
void norm_range(const NormPartsCpuArgs& args, uint64_t begin, uint64_t end) {
  const NormPartsShape& s = args.shape;
  const size_t n = s.n;
  for (uint64_t i = begin; i < end; ++i) {
    const uint64_t part = i % s.n_parts;
    float* x = args.x + i / s.n_parts * s.x_stride + s.x_column + part * n;
    float* y = args.y ? args.y + i * n : x;
    const float* v = x;
    if (s.kind == NormKind::kLayer) {
      subtract(x, mean_of(x, n), y, n);
      v = y;
    }
    const size_t weight = s.weights_by_part ? static_cast<size_t>(part) * n : 0;
    finish(v, factor_of(s, v), args.gamma ? args.gamma + weight : nullptr,
           args.beta ? args.beta + weight : nullptr, y, n);
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(norm_range);

void norm_parts_cpu(base::ThreadPool& pool, const NormPartsCpuArgs& args) {
  const auto rows = [&](uint32_t begin, uint32_t end) {
    const uint64_t parts = args.shape.n_parts;
    HWY_DYNAMIC_DISPATCH(norm_range)(args, begin * parts, end * parts);
  };
  const uint32_t row = args.shape.n * args.shape.n_parts;
  pool.run(args.n_rows, std::max(8192 / std::max(row, 1u), 1u), std::ref(rows));
}

}  // namespace puna::kernels
#endif
