// Causal convolution on the CPU: a block of channels is one thread's for whole runs, vectors run
// along the channels.
#include <algorithm>
#include <cstring>
#include <functional>

#include "kernels/conv/conv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/conv_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/math-inl.h"

#ifndef PUNA_KERNELS_CONV_CONV_CPU_ONCE
#define PUNA_KERNELS_CONV_CONV_CPU_ONCE
namespace puna::kernels {
constexpr size_t kChannelBlock = 64;  // channels of a block, a multiple of every vector's lanes
}  // namespace puna::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

// Inputs and weights of one block of channels. `window` is a ring: row r holds the input of the
// newest row whose number is r modulo n_taps.
struct ConvBlock {
  alignas(64) float window[kMaxConvTaps][kChannelBlock];
  alignas(64) float weights[kMaxConvTaps][kChannelBlock];
  alignas(64) float bias[kChannelBlock];
};

HWY_INLINE void conv_row(const ConvCpuArgs& args, const ConvBlock& block, uint32_t newest,
                         uint32_t t, size_t first, size_t n) {
  const hn::ScalableTag<float> d;
  const ConvShape& s = args.shape;
  float* y = args.y + uint64_t{t} * s.n_channels + first;
  const float* gate = args.x + uint64_t{t} * s.x_stride + s.x_column + s.n_channels + first;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t left = n - i;
    auto sum = hn::Load(d, block.bias + i);
    for (uint32_t k = 0; k < s.n_taps; ++k) {
      const float* u = block.window[(newest + 1 + k) % s.n_taps];
      sum = hn::MulAdd(hn::Load(d, block.weights[k] + i), hn::Load(d, u + i), sum);
    }
    if (s.form == ConvForm::kSilu) sum = silu(d, sum);
    if (s.form == ConvForm::kGated) sum = hn::Mul(sum, hn::LoadN(d, gate + i, left));
    hn::StoreN(sum, d, y + i, left);
  }
}

HWY_INLINE void load_input(const ConvCpuArgs& args, float* u, uint32_t t, size_t first, size_t n) {
  const ConvShape& s = args.shape;
  const float* x = args.x + uint64_t{t} * s.x_stride + s.x_column + first;
  if (s.form != ConvForm::kGated) {
    std::memcpy(u, x, n * sizeof(float));
    return;
  }
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < n; i += hn::Lanes(d)) {
    const size_t left = n - i;
    const auto v = hn::LoadN(d, x + 2 * size_t{s.n_channels} + i, left);
    hn::Store(hn::Mul(hn::LoadN(d, x + i, left), v), d, u + i);
  }
}

// Channels [first, first + n) of the run [begin, end).
void conv_block(const ConvCpuArgs& args, uint32_t begin, uint32_t end, size_t first, size_t n) {
  const ConvShape& s = args.shape;
  const uint32_t n_past = s.n_taps - 1;
  float* state = args.state + args.step.sequences[begin] * s.state_floats() + first;
  ConvBlock block = {};
  for (size_t i = 0; i < n; ++i) {
    for (uint32_t k = 0; k < s.n_taps; ++k)
      block.weights[k][i] = args.weights[(first + i) * s.n_taps + k];
    if (args.bias) block.bias[i] = args.bias[first + i];
  }
  for (uint32_t k = 0; k < n_past; ++k) {
    if (args.step.positions[begin] >= static_cast<int32_t>(n_past - k))
      std::memcpy(block.window[k], state + size_t{k} * s.n_channels, n * sizeof(float));
  }
  uint32_t newest = n_past - 1;
  for (uint32_t t = begin; t < end; ++t) {
    newest = (newest + 1) % s.n_taps;
    load_input(args, block.window[newest], t, first, n);
    conv_row(args, block, newest, t, first, n);
  }
  for (uint32_t k = 0; k < n_past; ++k) {
    std::memcpy(state + size_t{k} * s.n_channels, block.window[(newest + 2 + k) % s.n_taps],
                n * sizeof(float));
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(conv_block);

void conv_cpu(base::ThreadPool& pool, const ConvCpuArgs& args) {
  const uint32_t n_channels = args.shape.n_channels;
  const auto n_blocks = static_cast<uint32_t>((n_channels + kChannelBlock - 1) / kChannelBlock);
  for_each_run(args.step, [&](uint32_t begin, uint32_t end) {
    const auto blocks = [&](uint32_t first_block, uint32_t end_block) {
      for (size_t b = first_block; b < end_block; ++b) {
        const size_t first = b * kChannelBlock;
        HWY_DYNAMIC_DISPATCH(conv_block)
        (args, begin, end, first, std::min(kChannelBlock, n_channels - first));
      }
    };
    pool.run(n_blocks, std::max(256 / (end - begin), 1u), std::ref(blocks));
  });
}

}  // namespace puna::kernels
#endif
