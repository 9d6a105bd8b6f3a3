// Norms of equal parts of rows, in place or into another slice: for each row t and part p
//   v = x[t, x_column + p * n .. + n]
//   y[t, p * n .. + n] = norm(v) * gamma + beta
// where norm is an RMS norm, v / sqrt(mean(v^2) + eps), a layer norm, (v - mean(v)) /
// sqrt(variance(v) + eps) (Ba et al. 2016), or an L2 norm, v / max(sqrt(sum(v^2)), eps). With
// groups of channels for parts, a layer norm is the group norm of Wu and He 2018.
//   x  [n_rows, x_stride]  f32, normed in place when there is no y     y  [n_rows, n_parts * n] f32
//   gamma, beta  [n], the same for all parts, or [n_parts * n]; none = 1 and 0
// norm.h is the RMS norm of a whole row with the additions around it.
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"

namespace puna::kernels {

enum class NormKind : uint8_t { kRms, kLayer, kL2 };

struct NormPartsShape {
  NormKind kind = NormKind::kRms;
  uint32_t n = 0;
  uint32_t n_parts = 1;
  uint32_t x_stride = 0;
  uint32_t x_column = 0;
  bool weights_by_part = false;  // gamma and beta are [n_parts * n]
  float eps = 1e-6f;
};

struct NormPartsArgs {
  std::string label;
  Slice step = {};
  Slice x = {};
  std::optional<Slice> y = {};
  std::optional<Slice> gamma = {}, beta = {};
  NormPartsShape shape = {};
  Rows rows = Rows::kTokens;
};
// Errors: kInvalidArgument when the parts do not lie within a row.
base::Result<void> norm_parts(const gpu::DeviceInfo& device, const NormPartsArgs& args,
                              std::vector<KernelCall>& out);

struct NormPartsCpuArgs {
  float* x = nullptr;
  float* y = nullptr;            // null: in place
  const float* gamma = nullptr;  // null: 1
  const float* beta = nullptr;   // null: 0
  NormPartsShape shape = {};
  uint32_t n_rows = 0;
};
void norm_parts_cpu(base::ThreadPool& pool, const NormPartsCpuArgs& args);

}  // namespace puna::kernels
