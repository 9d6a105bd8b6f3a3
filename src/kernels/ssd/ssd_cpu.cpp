// The recurrence of Mamba-2 on the CPU: a few rows of a head's state are one thread's for a whole
// run, so that they stay in its first-level cache; vectors run along the states.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "kernels/ssd/ssd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ssd/ssd_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// row = decay * row + dx * b; gives row . c
HWY_INLINE float advance_row(float* row, const float* b, const float* c, size_t n, float decay,
                             float dx) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto keep = hn::Set(d, decay);
  const auto add = hn::Set(d, dx);
  auto sum = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::MulAdd(add, hn::LoadU(d, b + i), hn::Mul(keep, hn::LoadU(d, row + i)));
    hn::StoreU(v, d, row + i);
    sum = hn::MulAdd(v, hn::LoadU(d, c + i), sum);
  }
  if (i < n) {
    const size_t left = n - i;
    const auto v =
        hn::MulAdd(add, hn::LoadN(d, b + i, left), hn::Mul(keep, hn::LoadN(d, row + i, left)));
    hn::StoreN(v, d, row + i, left);
    sum = hn::MulAdd(v, hn::LoadN(d, c + i, left), sum);
  }
  return hn::ReduceSum(d, sum);
}

// Elements [first, first + n) of a head, over the run [begin, end).
void ssd_rows(const SsdCpuArgs& args, uint32_t begin, uint32_t end, uint32_t head, uint32_t first,
              uint32_t n) {
  const SsdShape& s = args.shape;
  const uint32_t group = head / (s.n_heads / s.n_groups);
  const size_t at = size_t{head} * s.head_dim + first;
  float* state = args.state + args.step.sequences[begin] * s.state_floats() + at * s.n_state;
  if (args.step.positions[begin] == 0) std::memset(state, 0, size_t{n} * s.n_state * sizeof(float));
  for (uint32_t t = begin; t < end; ++t) {
    const float* xbc = args.xbc + size_t{t} * s.xbc_columns();
    const float* b = xbc + s.inner() + size_t{group} * s.n_state;
    const float* c = b + size_t{s.n_groups} * s.n_state;
    const float* in = args.in + size_t{t} * s.in_stride;
    const float raw = in[s.dt_column + head] + args.dt_bias[head];
    const float dt = std::max(raw, 0.0f) + std::log1p(std::exp(-std::fabs(raw)));
    const float decay = std::exp(dt * args.a[head]);
    for (uint32_t i = 0; i < n; ++i) {
      const float x = xbc[at + i];
      const float sum = advance_row(state + size_t{i} * s.n_state, b, c, s.n_state, decay, dt * x);
      const float z = in[s.z_column + at + i];
      args.y[size_t{t} * s.inner() + at + i] = (sum + args.d[head] * x) * z / (1.0f + std::exp(-z));
    }
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(ssd_rows);

namespace {
constexpr uint32_t kRowsEach = 16;  // rows of state: 8 KiB at 128 states
}  // namespace

void ssd_cpu(base::ThreadPool& pool, const SsdCpuArgs& args) {
  const SsdShape& s = args.shape;
  const uint32_t n_blocks = (s.head_dim + kRowsEach - 1) / kRowsEach;
  for_each_run(args.step, [&](uint32_t begin, uint32_t end) {
    const auto blocks = [&](uint32_t first_block, uint32_t end_block) {
      for (uint32_t i = first_block; i < end_block; ++i) {
        const uint32_t first = i % n_blocks * kRowsEach;
        HWY_DYNAMIC_DISPATCH(ssd_rows)
        (args, begin, end, i / n_blocks, first, std::min(kRowsEach, s.head_dim - first));
      }
    };
    pool.run(s.n_heads * n_blocks, 1, std::ref(blocks));
  });
}

}  // namespace puna::kernels
#endif
