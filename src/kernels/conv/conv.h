// Causal depthwise convolution over the last n_taps inputs of each channel, with state:
//   y[t, c] = out(bias[c] + sum_k w[c, k] * u[t - n_taps + 1 + k, c]),  k = 0 .. n_taps - 1
// where u of rows before the run comes from the state and is 0 before position 0. Forms:
//   kPlain  u = x[:, x_column + c]                       out = identity
//   kSilu   the same                                     out = silu
//   kGated  x holds three parts of n_channels from x_column on, b, g and v:
//           u = b * v                                    out = g * (the sum)
//   x         [n_tokens, x_stride]                       f32
//   weights   [n_channels, n_taps], then bias [n_channels] when has_bias   f32
//   state     [n_sequences, n_taps - 1, n_channels]      f32, the inputs u, oldest first; state.h
//   y         [n_tokens, n_channels]                     f32
// Sources: Gu and Dao 2023 (Mamba, the convolution before the scan), kSilu; Liquid AI 2025 (LFM2,
// the gated short convolution), kGated.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/state.h"

namespace puna::kernels {

enum class ConvForm : uint8_t { kPlain, kSilu, kGated };

constexpr uint32_t kMaxConvTaps = 8;

struct ConvShape {
  uint32_t n_channels = 0;
  uint32_t n_taps = 0;  // 2 .. kMaxConvTaps
  uint32_t x_stride = 0;
  uint32_t x_column = 0;
  bool has_bias = false;
  ConvForm form = ConvForm::kSilu;
  uint64_t state_floats() const { return uint64_t{n_taps - 1} * n_channels; }
};

struct ConvArgs {
  std::string label;
  Slice step = {}, x = {}, weights = {}, state = {}, y = {};
  ConvShape shape = {};
  uint32_t max_rows = 1;  // rows of the batch class
};
// One dispatch for small classes; for chunks the state is moved on by a second one. Errors:
// kUnsupported for a number of taps outside 2 .. kMaxConvTaps.
base::Result<void> conv(const gpu::DeviceInfo& device, const ConvArgs& args,
                        std::vector<KernelCall>& out);

struct ConvCpuArgs {
  CpuStep step;
  const float* x = nullptr;
  const float* weights = nullptr;  // [n_channels, n_taps]
  const float* bias = nullptr;     // [n_channels]; null = none
  float* state = nullptr;
  float* y = nullptr;
  ConvShape shape;
};
void conv_cpu(base::ThreadPool& pool, const ConvCpuArgs& args);

}  // namespace puna::kernels
