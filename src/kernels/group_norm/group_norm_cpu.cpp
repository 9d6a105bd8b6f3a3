// RMS norm of groups on the CPU, a group at a time, then its gate.
#include <algorithm>
#include <functional>

#include "kernels/group_norm/group_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/group_norm/group_norm_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/math-inl.h"
#include "kernels/norm/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

// y *= silu(gate)
HWY_INLINE void gate_by(const float* gate, float* y, size_t n) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t left = n - i;
    const auto g = silu(d, hn::LoadN(d, gate + i, left));
    hn::StoreN(hn::Mul(g, hn::LoadN(d, y + i, left)), d, y + i, left);
  }
}

// Groups [begin, end) of all rows.
void norm_groups(const GroupNormCpuArgs& args, uint32_t begin, uint32_t end) {
  const GroupNormShape& s = args.shape;
  const size_t size = s.n / s.n_groups;
  for (size_t group = begin; group < end; ++group) {
    const size_t row = group / s.n_groups;
    const size_t first = group % s.n_groups * size;
    const float* x = args.x + row * s.n + first;
    float* y = args.y + row * s.n + first;
    scale_by(x, args.gamma + first % s.n_gamma, inverse_rms(x, size, s.eps), y, size);
    if (args.gate) gate_by(args.gate + row * s.gate_stride + s.gate_column + first, y, size);
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(norm_groups);

void group_norm_cpu(base::ThreadPool& pool, const GroupNormCpuArgs& args) {
  const GroupNormShape& s = args.shape;
  const auto groups = [&](uint32_t begin, uint32_t end) {
    HWY_DYNAMIC_DISPATCH(norm_groups)(args, begin, end);
  };
  const uint32_t size = std::max(s.n / s.n_groups, 1u);
  pool.run(args.n_rows * s.n_groups, std::max(4096 / size, 1u), std::ref(groups));
}

}  // namespace puna::kernels
#endif
