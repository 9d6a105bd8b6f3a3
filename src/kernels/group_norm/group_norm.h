// RMS norm of groups of a row, each by itself, and the gate after it:
//   y[t, i] = x[t, i] / sqrt(mean over i's group of x^2 + eps) * gamma[i % n_gamma]
//             [* silu(gate[t, gate_column + i])]
//   x, y   [n_tokens, n]  f32; groups of n / n_groups elements that lie together
//   gamma  [n_gamma]      f32; n, or n / n_groups for all groups alike
//   gate   [n_tokens, gate_stride]  f32
// Sources: Dao and Gu 2024 (Mamba-2), section 7, without the gate; Yang et al. 2024 (Gated Delta
// Networks), figure 1, with it.
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

struct GroupNormShape {
  uint32_t n = 0;
  uint32_t n_groups = 1;  // divides n
  uint32_t n_gamma = 0;
  uint32_t gate_stride = 0;
  uint32_t gate_column = 0;
  float eps = 1e-6f;
};

struct GroupNormArgs {
  std::string label;
  Slice x = {}, gamma = {}, y = {};
  std::optional<Slice> gate = {};
  GroupNormShape shape = {};
};
// Errors: kInvalidArgument when n is no multiple of n_groups.
base::Result<void> group_norm(const gpu::DeviceInfo& device, const GroupNormArgs& args,
                              std::vector<KernelCall>& out);

struct GroupNormCpuArgs {
  const float* x = nullptr;
  const float* gamma = nullptr;
  const float* gate = nullptr;  // null = none
  float* y = nullptr;
  uint32_t n_rows = 0;
  GroupNormShape shape;
};
void group_norm_cpu(base::ThreadPool& pool, const GroupNormCpuArgs& args);

}  // namespace puna::kernels
