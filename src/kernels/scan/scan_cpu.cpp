// The recurrence of Mamba on the CPU: a block of channels is one thread's for a whole run, so that
// their states stay in its caches; vectors run along a channel's states, and along channels in what
// comes before and after them.
#include <algorithm>
#include <cstring>
#include <functional>

#include "kernels/scan/scan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/scan/scan_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/math-inl.h"

#ifndef PUNA_KERNELS_SCAN_SCAN_CPU_ONCE
#define PUNA_KERNELS_SCAN_SCAN_CPU_ONCE
namespace puna::kernels {
constexpr uint32_t kScanChannels = 64;  // of a block, a multiple of every vector's lanes
}  // namespace puna::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

// log(1 + exp(v))
template <class D, class V = hn::Vec<D>>
HWY_INLINE V softplus(D d, V v) {
  return hn::Add(hn::Max(v, hn::Zero(d)), hn::Log1p(d, exp_weight(d, hn::Neg(hn::Abs(v)))));
}

// state = exp(dt * a) * state + dx * b; gives state . c
HWY_INLINE float advance_channel(float* state, const float* a, const float* b, const float* c,
                                 size_t n, float dt, float dx) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto step = hn::Set(d, dt);
  const auto add = hn::Set(d, dx);
  auto sum = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto keep = exp_weight(d, hn::Mul(step, hn::LoadU(d, a + i)));
    const auto v = hn::MulAdd(add, hn::LoadU(d, b + i), hn::Mul(keep, hn::LoadU(d, state + i)));
    hn::StoreU(v, d, state + i);
    sum = hn::MulAdd(v, hn::LoadU(d, c + i), sum);
  }
  if (i < n) {
    const size_t left = n - i;
    const auto keep = exp_weight(d, hn::Mul(step, hn::LoadN(d, a + i, left)));
    const auto v =
        hn::MulAdd(add, hn::LoadN(d, b + i, left), hn::Mul(keep, hn::LoadN(d, state + i, left)));
    hn::StoreN(v, d, state + i, left);
    sum = hn::MulAdd(v, hn::LoadN(d, c + i, left), sum);
  }
  return hn::ReduceSum(d, sum);
}

// Channels [first, first + n) over the run [begin, end).
void scan_channels(const ScanCpuArgs& args, uint32_t begin, uint32_t end, uint32_t first,
                   uint32_t n) {
  const ScanShape& s = args.shape;
  const hn::ScalableTag<float> d;
  float* state =
      args.state + args.step.sequences[begin] * s.state_floats() + size_t{first} * s.n_state;
  if (args.step.positions[begin] == 0) std::memset(state, 0, size_t{n} * s.n_state * sizeof(float));
  const float* a = args.a + size_t{first} * s.n_state;
  alignas(64) float dt[kScanChannels];
  alignas(64) float sums[kScanChannels];
  for (uint32_t t = begin; t < end; ++t) {
    const size_t at = size_t{t} * s.n_channels + first;
    const float* b = args.bc + size_t{t} * 2 * s.n_state;
    const float* x = args.x + at;
    const float* z = args.in + size_t{t} * s.in_stride + s.z_column + first;
    for (size_t i = 0; i < n; i += hn::Lanes(d))
      hn::Store(softplus(d, hn::LoadN(d, args.dt + at + i, n - i)), d, dt + i);
    for (size_t i = 0; i < n; ++i) {
      const size_t row = i * s.n_state;
      sums[i] =
          advance_channel(state + row, a + row, b, b + s.n_state, s.n_state, dt[i], dt[i] * x[i]);
    }
    for (size_t i = 0; i < n; i += hn::Lanes(d)) {
      const size_t left = n - i;
      const auto skip = hn::Mul(hn::LoadN(d, args.d + first + i, left), hn::LoadN(d, x + i, left));
      const auto gate = silu(d, hn::LoadN(d, z + i, left));
      hn::StoreN(hn::Mul(hn::Add(hn::Load(d, sums + i), skip), gate), d, args.y + at + i, left);
    }
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(scan_channels);

void scan_cpu(base::ThreadPool& pool, const ScanCpuArgs& args) {
  const uint32_t n_channels = args.shape.n_channels;
  const uint32_t n_blocks = (n_channels + kScanChannels - 1) / kScanChannels;
  for_each_run(args.step, [&](uint32_t begin, uint32_t end) {
    const auto blocks = [&](uint32_t first_block, uint32_t end_block) {
      for (uint32_t i = first_block; i < end_block; ++i) {
        const uint32_t first = i * kScanChannels;
        HWY_DYNAMIC_DISPATCH(scan_channels)
        (args, begin, end, first, std::min(kScanChannels, n_channels - first));
      }
    };
    pool.run(n_blocks, 1, std::ref(blocks));
  });
}

}  // namespace puna::kernels
#endif
