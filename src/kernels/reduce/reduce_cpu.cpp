// What a row adds up to, on the CPU. Sums are kept in f64 across vectors: rows may be long.
#include <algorithm>
#include <functional>

#include "kernels/reduce/reduce.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/reduce_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

double sum_of(const float* x, size_t n) {
  constexpr size_t kBlock = 4096;  // elements whose f32 sums stay exact enough
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  double total = 0;
  for (size_t first = 0; first < n; first += kBlock) {
    const size_t end = HWY_MIN(first + kBlock, n);
    auto sum = hn::Zero(d);
    for (size_t i = first; i < end; i += lanes) sum = hn::Add(sum, hn::LoadN(d, x + i, end - i));
    total += static_cast<double>(hn::ReduceSum(d, sum));
  }
  return total;
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {
namespace {

uint32_t argmax(const float* x, uint32_t n) {
  uint32_t best = 0;
  bool found = false;
  for (uint32_t i = 0; i < n; ++i) {
    if (found ? x[i] > x[best] : x[i] == x[i]) {
      best = i;
      found = true;
    }
  }
  return best;
}

void running_sum(const float* x, float* y, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += static_cast<double>(x[i]);
    y[i] = static_cast<float>(sum);
  }
}

}  // namespace

HWY_EXPORT(sum_of);

void reduce_cpu(base::ThreadPool& pool, const ReduceCpuArgs& args) {
  const ReduceShape& s = args.shape;
  auto* y = static_cast<float*>(args.y);
  const auto rows = [&](uint32_t begin, uint32_t end) {
    for (size_t r = begin; r < end; ++r) {
      const float* x = args.x + r * s.n;
      if (s.reduction == Reduction::kArgmax) {
        static_cast<uint32_t*>(args.y)[r] = argmax(x, s.n);
      } else if (s.reduction == Reduction::kMax) {
        y[r] = x[argmax(x, s.n)];
      } else if (s.reduction == Reduction::kRunningSum) {
        running_sum(x, y + r * s.n, s.n);
      } else {
        const double sum = HWY_DYNAMIC_DISPATCH(sum_of)(x, s.n);
        y[r] = static_cast<float>(s.reduction == Reduction::kMean ? sum / s.n : sum);
      }
    }
  };
  pool.run(args.n_rows * s.n_parts, std::max(4096 / std::max(s.n, 1u), 1u), std::ref(rows));
}

}  // namespace puna::kernels
#endif
