// The token shift on the CPU: rows are apart but for the state, which the last row of a run leaves
// when all of them are done; vectors run along the channels.
#include <cstring>
#include <functional>

#include "kernels/shift/shift.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/shift/shift_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// y = x + (before - x) * (mix + by); `before` and `by` may be null, for 0.
void shift_row(const float* x, const float* before, const float* mix, const float* by, float* y,
               size_t n) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t left = n - i;
    const auto now = hn::LoadN(d, x + i, left);
    const auto old = before ? hn::LoadN(d, before + i, left) : hn::Zero(d);
    auto m = hn::LoadN(d, mix + i, left);
    if (by) m = hn::Add(m, hn::LoadN(d, by + i, left));
    hn::StoreN(hn::MulAdd(hn::Sub(old, now), m, now), d, y + i, left);
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(shift_row);

namespace {
constexpr uint32_t kElementsEach = 4096;  // that make a thread's time worth its start
}  // namespace

void shift_cpu(base::ThreadPool& pool, const ShiftCpuArgs& args) {
  const ShiftShape& s = args.shape;
  const CpuStep& step = args.step;
  const size_t n = s.n;
  const auto rows = [&](uint32_t first, uint32_t end) {
    for (size_t t = first; t < end; ++t) {
      const float* x = args.x + t * n;
      const float* before = x - n;
      if (begins_run(step, static_cast<uint32_t>(t)))
        before = step.positions[t] == 0 ? nullptr : args.state + step.sequences[t] * n;
      const float* by = args.by ? args.by + t * s.by_stride + s.by_column : nullptr;
      HWY_DYNAMIC_DISPATCH(shift_row)(x, before, args.mix + s.mix_column, by, args.y + t * n, n);
    }
  };
  pool.run(step.n_tokens, kElementsEach / s.n + 1, std::ref(rows));
  if (!s.keeps) return;
  for_each_run(step, [&](uint32_t begin, uint32_t end) {
    std::memcpy(args.state + step.sequences[begin] * n, args.x + (end - 1) * n, n * sizeof(float));
  });
}

}  // namespace puna::kernels
#endif
