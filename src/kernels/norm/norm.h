// RMS norm with the additions around it:
//   r = x, or rms_norm(x) * post_gamma when post_gamma is given
//   r = (r + residual) * scale[0] when residual is given, scale 1 when not given; residual is
//       overwritten with r
//   y = rms_norm(r) * gamma
// where rms_norm(v) = v / sqrt(mean(v^2) + eps), per row.  Source: Zhang and Sennrich 2019,
// equation 4.
//   x, residual, y  [n_rows, n]  f32      gamma, post_gamma  [n]  f32
// y may be absent (post-norm and add only), or left as x16 (common/x16.h) instead of f32; x may be
// the same slice as residual only if residual is not given separately.
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "kernels/common/call.h"
#include "kernels/common/x16.h"

namespace puna::kernels {

struct NormArgs {
  std::string label;
  Slice step = {};
  Slice x = {};
  std::optional<Slice> post_gamma = {};
  std::optional<Slice> residual = {};
  std::optional<Slice> scale = {};  // [1] f32, only with residual
  std::optional<Slice> gamma = {};  // given together with y or y16
  std::optional<Slice> y = {};
  std::optional<X16> y16 = {};  // instead of y; n is a multiple of 32
  uint32_t n = 0;
  float eps = 1e-6f;
  Rows rows = Rows::kTokens;
};
base::Result<void> rms_norm(const gpu::DeviceInfo& device, const NormArgs& args,
                            std::vector<KernelCall>& out);

// The same on the CPU over n_rows rows. post_gamma, residual, gamma and y may be null.
struct NormCpuArgs {
  const float* x = nullptr;
  const float* post_gamma = nullptr;
  float* residual = nullptr;
  const float* scale = nullptr;  // null: 1
  const float* gamma = nullptr;
  float* y = nullptr;
  uint32_t n_rows = 0;
  uint32_t n = 0;
  float eps = 1e-6f;
};

void rms_norm_cpu(base::ThreadPool& pool, const NormCpuArgs& args);

}  // namespace puna::kernels
