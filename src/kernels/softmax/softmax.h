// Softmax of rows, in place, for graphs whose scores do not go through attention.h (which makes its
// own). For row (t, h):
//   z[i] = scale * y[t, h, i] + slopes[h] * bias[.., i]
//   y[t, h, i] = exp(z[i] - m) / (exp(sinks[h] - m) + sum_j exp(z[j] - m))
//   y      [n_rows, n_heads, n]             f32
//   bias   [n_rows, n] or, by head, [n_rows, n_heads, n]; none = 0. f32; -inf leaves an element out
//   slopes [n_heads]  f32, none = 1 (ALiBi, Press et al. 2021)
//   sinks  [n_heads]  f32, none = no such term (gpt-oss model card, 2025)
// A row with nothing left in it becomes zeros.
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

struct SoftmaxShape {
  uint32_t n = 0;
  uint32_t n_heads = 1;
  bool bias_by_head = false;
  float scale = 1.0f;
};

struct SoftmaxArgs {
  std::string label;
  Slice y = {};
  std::optional<Slice> bias = {}, slopes = {}, sinks = {};
  SoftmaxShape shape = {};
  Rows rows = Rows::kTokens;
};
// Errors: kInvalidArgument for rows of nothing.
base::Result<void> softmax(const gpu::DeviceInfo& device, const SoftmaxArgs& args,
                           std::vector<KernelCall>& out);

struct SoftmaxCpuArgs {
  float* y = nullptr;
  const float* bias = nullptr;    // null = none
  const float* slopes = nullptr;  // null = 1
  const float* sinks = nullptr;   // null = none
  uint32_t n_rows = 0;
  SoftmaxShape shape = {};
};
void softmax_cpu(base::ThreadPool& pool, const SoftmaxCpuArgs& args);

}  // namespace puna::kernels
