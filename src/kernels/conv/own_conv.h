// Causal depthwise convolution over the rows of a step that are no tokens of a sequence, as those
// of encoders: without state.
//   y[t, c] = sum_k w[c, k] * x[t - n_taps + 1 + k, c],  k = 0 .. n_taps - 1
// where rows before the first of their sound are 0.
//   x        [n_rows, n_channels]  f32
//   weights  [n_channels, n_taps]  f32
//   before   [n_rows, before_stride]  f32, of which the first tells how many rows right before this
//            one belong to the same sound
//   y        [n_rows, n_channels]  f32
// Source: Gulati et al. 2020 (Conformer, section 2.2), causal as Zhang et al. 2023 (USM) have it.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

struct OwnConvShape {
  uint32_t n_channels = 0;
  uint32_t n_taps = 0;
  uint32_t before_stride = 1;
};

struct OwnConvArgs {
  std::string label;
  Slice x = {}, weights = {}, before = {}, y = {};
  OwnConvShape shape = {};
  Rows rows = Rows::kTokens;
};
// Errors: kInvalidArgument without channels or taps; kUnsupported for more channels than a dispatch
// covers.
base::Result<void> own_conv(const gpu::DeviceInfo& device, const OwnConvArgs& args,
                            std::vector<KernelCall>& out);

struct OwnConvCpuArgs {
  const float* x = nullptr;
  const float* weights = nullptr;
  const float* before = nullptr;
  float* y = nullptr;
  uint32_t n_rows = 0;
  OwnConvShape shape = {};
};
void own_conv_cpu(base::ThreadPool& pool, const OwnConvCpuArgs& args);

}  // namespace puna::kernels
