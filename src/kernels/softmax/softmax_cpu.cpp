// Softmax of rows on the CPU.
#include <algorithm>
#include <functional>
#include <limits>

#include "kernels/softmax/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax/softmax_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

// One row: bias null for none, sink -inf for none.
void softmax_row(float* y, const float* bias, float slope, float sink, size_t n, float scale) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  auto largest = hn::Set(d, HWY_MAX(sink, kLowest));
  for (size_t i = 0; i < n; i += lanes) {
    auto z = hn::Mul(hn::LoadN(d, y + i, n - i), hn::Set(d, scale));
    if (bias) z = hn::MulAdd(hn::LoadN(d, bias + i, n - i), hn::Set(d, slope), z);
    hn::StoreN(z, d, y + i, n - i);
    // Lanes beyond the row count as nothing.
    largest = hn::Max(largest, hn::IfThenElse(hn::FirstN(d, n - i), z, largest));
  }
  const float most = hn::ReduceMax(d, largest);
  auto sums = hn::Zero(d);
  for (size_t i = 0; i < n; i += lanes) {
    const auto power = exp_weight(d, hn::Sub(hn::LoadN(d, y + i, n - i), hn::Set(d, most)));
    hn::StoreN(power, d, y + i, n - i);
    sums = hn::Add(sums, hn::IfThenElseZero(hn::FirstN(d, n - i), power));
  }
  const auto one = hn::CappedTag<float, 1>();
  const float sum =
      hn::ReduceSum(d, sums) + hn::GetLane(exp_weight(one, hn::Set(one, sink - most)));
  const auto inverse = hn::Set(d, sum > 0 ? 1.0f / sum : 0.0f);
  for (size_t i = 0; i < n; i += lanes)
    hn::StoreN(hn::Mul(hn::LoadN(d, y + i, n - i), inverse), d, y + i, n - i);
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(softmax_row);

void softmax_cpu(base::ThreadPool& pool, const SoftmaxCpuArgs& args) {
  const SoftmaxShape& s = args.shape;
  const auto rows = [&](uint32_t begin, uint32_t end) {
    for (size_t r = begin; r < end; ++r) {
      const size_t head = r % s.n_heads, bias_row = s.bias_by_head ? r : r / s.n_heads;
      HWY_DYNAMIC_DISPATCH(softmax_row)
      (args.y + r * s.n, args.bias ? args.bias + bias_row * s.n : nullptr,
       args.slopes ? args.slopes[head] : 1.0f,
       args.sinks ? args.sinks[head] : -std::numeric_limits<float>::infinity(), s.n, s.scale);
    }
  };
  pool.run(args.n_rows * s.n_heads, std::max(2048 / std::max(s.n, 1u), 1u), std::ref(rows));
}

}  // namespace puna::kernels
#endif
