// The gated delta rule over the rows of a step. For each value head h with key head
// j = h % n_key_heads (tiled) or h / (n_value_heads / n_key_heads):
//   k = k_raw / sqrt(sum k_raw^2 + eps),  q = q_raw / sqrt(sum q_raw^2 + eps) / sqrt(key_dim)
//   S = exp(a[h] * softplus(alpha[t, h] + dt_bias[h])) * S
//   S[v] = S[v] + sigmoid(beta[t, h]) * (value[v] - S[v] . k) * k
//   y[t, h, v] = S[v] . q
//   qkv        [n_tokens, 2 * n_key_heads * key_dim + n_value_heads * value_dim]  f32: q, k, values
//   in         [n_tokens, in_stride]  f32: beta of head h at beta_column + offset(h), alpha at
//              alpha_column + offset(h), where offset(h) = h / r * head_stride + h % r and
//              r = n_value_heads / n_key_heads
//   constants  a [n_value_heads], dt_bias [n_value_heads], one after the other   f32; a < 0
//   state      [n_sequences, n_value_heads, value_dim, key_dim]  f32; state.h
//   y          [n_tokens, n_value_heads * value_dim]             f32
// Source: Yang, Kautz and Hatamizadeh 2024 (Gated Delta Networks), equation 10.
#pragma once

#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/state.h"

namespace puna::kernels {

struct DeltaShape {
  uint32_t n_key_heads = 0;
  uint32_t n_value_heads = 0;  // a multiple of n_key_heads
  uint32_t key_dim = 0;        // a multiple of 4, up to 256
  uint32_t value_dim = 0;      // a multiple of 4
  bool tiled = false;
  uint32_t in_stride = 0;
  uint32_t beta_column = 0;
  uint32_t alpha_column = 0;
  uint32_t head_stride = 0;
  float eps = 1e-6f;
  uint32_t ratio() const { return n_value_heads / n_key_heads; }
  uint32_t key_columns() const { return n_key_heads * key_dim; }
  uint32_t value_columns() const { return n_value_heads * value_dim; }
  uint32_t qkv_columns() const { return 2 * key_columns() + value_columns(); }
  uint32_t key_head(uint32_t h) const { return tiled ? h % n_key_heads : h / ratio(); }
  uint32_t offset(uint32_t h) const { return h / ratio() * head_stride + h % ratio(); }
  uint64_t state_floats() const { return uint64_t{value_columns()} * key_dim; }
};

struct DeltaArgs {
  std::string label;
  Slice step = {}, qkv = {}, in = {}, constants = {}, state = {}, y = {};
  DeltaShape shape = {};
  uint32_t max_rows = 1;  // rows of the batch class
};
// Errors: kUnsupported for a shape outside what DeltaShape states.
base::Result<void> delta(const gpu::DeviceInfo& device, const DeltaArgs& args,
                         std::vector<KernelCall>& out);

struct DeltaCpuArgs {
  CpuStep step;
  const float* qkv = nullptr;
  const float* in = nullptr;
  const float* a = nullptr;
  const float* dt_bias = nullptr;
  float* state = nullptr;
  float* y = nullptr;
  DeltaShape shape;
};
void delta_cpu(base::ThreadPool& pool, const DeltaCpuArgs& args);

}  // namespace puna::kernels
