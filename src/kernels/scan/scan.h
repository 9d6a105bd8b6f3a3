// Selective scan: the recurrence of Mamba over the rows of a step. For each channel c:
//   dt = softplus(raw_dt[t, c])
//   S[c, n] = exp(dt * a[c, n]) * S[c, n] + dt * x[t, c] * B[t, n]
//   y[t, c] = (sum_n S[c, n] * C[t, n] + d[c] * x[t, c]) * silu(z[t, c])
// Mamba-2's (ssd/ssd.h) has one decay and one dt for all channels of a head.
//   x          [n_tokens, n_channels]              f32
//   raw_dt     [n_tokens, n_channels]              f32, with its bias
//   bc         [n_tokens, 2 * n_state]             f32: B, then C
//   in         [n_tokens, in_stride]               f32: z at z_column
//   constants  a [n_channels, n_state], d [n_channels], one after the other   f32; a < 0
//   state      [n_sequences, n_channels, n_state]  f32; state.h
//   y          [n_tokens, n_channels]              f32
// Source: Gu and Dao 2023 (Mamba), section 3.2 and algorithm 2; the gate as in section 3.4.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/state.h"

namespace puna::kernels {

struct ScanShape {
  uint32_t n_channels = 0;
  uint32_t n_state = 0;  // a multiple of 4, up to 256
  uint32_t in_stride = 0;
  uint32_t z_column = 0;
  uint64_t state_floats() const { return uint64_t{n_channels} * n_state; }
};

struct ScanArgs {
  std::string label;
  Slice step = {}, x = {}, dt = {}, bc = {}, in = {}, constants = {}, state = {}, y = {};
  ScanShape shape = {};
  uint32_t max_rows = 1;  // rows of the batch class
};
// Errors: kUnsupported for a shape outside what ScanShape states.
base::Result<void> scan(const gpu::DeviceInfo& device, const ScanArgs& args,
                        std::vector<KernelCall>& out);

struct ScanCpuArgs {
  CpuStep step;
  const float* x = nullptr;
  const float* dt = nullptr;
  const float* bc = nullptr;
  const float* in = nullptr;
  const float* a = nullptr;
  const float* d = nullptr;
  float* state = nullptr;
  float* y = nullptr;
  ScanShape shape;
};
void scan_cpu(base::ThreadPool& pool, const ScanCpuArgs& args);

}  // namespace puna::kernels
