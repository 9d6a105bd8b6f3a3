// State space duality: the recurrence of Mamba-2 over the rows of a step. For each head h, with
// group g = h / (n_heads / n_groups):
//   dt = softplus(raw_dt[t, h] + dt_bias[h])
//   S[p, n] = exp(dt * a[h]) * S[p, n] + dt * x[t, h, p] * B[t, g, n]
//   y[t, h, p] = (sum_n S[p, n] * C[t, g, n] + d[h] * x[t, h, p]) * silu(z[t, h, p])
//   xbc        [n_tokens, n_heads * head_dim + 2 * n_groups * n_state]  f32: x, then B, then C
//   in         [n_tokens, in_stride]  f32: raw_dt at dt_column, z at z_column
//   constants  a [n_heads], d [n_heads], dt_bias [n_heads], one after the other   f32; a < 0
//   state      [n_sequences, n_heads, head_dim, n_state]  f32; state.h
//   y          [n_tokens, n_heads * head_dim]             f32
// Source: Dao and Gu 2024 (Transformers are SSMs), section 6; the gate as in its architecture,
// section 7.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/state.h"

namespace puna::kernels {

struct SsdShape {
  uint32_t n_heads = 0;
  uint32_t head_dim = 0;  // a multiple of 4
  uint32_t n_state = 0;   // a multiple of 4, up to 256
  uint32_t n_groups = 1;  // divides n_heads
  uint32_t in_stride = 0;
  uint32_t dt_column = 0;
  uint32_t z_column = 0;
  uint32_t inner() const { return n_heads * head_dim; }
  uint32_t xbc_columns() const { return inner() + 2 * n_groups * n_state; }
  uint64_t state_floats() const { return uint64_t{inner()} * n_state; }
};

struct SsdArgs {
  std::string label;
  Slice step = {}, xbc = {}, in = {}, constants = {}, state = {}, y = {};
  SsdShape shape = {};
  uint32_t max_rows = 1;  // rows of the batch class
};
// Errors: kUnsupported for a shape outside what SsdShape states.
base::Result<void> ssd(const gpu::DeviceInfo& device, const SsdArgs& args,
                       std::vector<KernelCall>& out);

struct SsdCpuArgs {
  CpuStep step;
  const float* xbc = nullptr;
  const float* in = nullptr;
  const float* a = nullptr;
  const float* d = nullptr;
  const float* dt_bias = nullptr;
  float* state = nullptr;
  float* y = nullptr;
  SsdShape shape;
};
void ssd_cpu(base::ThreadPool& pool, const SsdCpuArgs& args);

}  // namespace puna::kernels
