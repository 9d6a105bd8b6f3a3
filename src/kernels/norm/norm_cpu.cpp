// RMS norm on the CPU, a row at a time: read for the sum, then read again (from the first-level
// cache) for the result.
#include <algorithm>
#include <functional>

#include "kernels/norm/norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/norm_cpu.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/norm/norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace puna::kernels::HWY_NAMESPACE {

void norm_rows(const NormCpuArgs& args, uint32_t begin, uint32_t end) {
  const size_t n = args.n;
  for (size_t t = begin; t < end; ++t) {
    const float* r = args.x + t * n;
    if (args.residual) {
      float* residual = args.residual + t * n;
      const float inverse = args.post_gamma ? inverse_rms(r, n, args.eps) : 1.0f;
      add_scaled(r, args.post_gamma, inverse, residual, n);
      if (args.scale) scale_all(residual, *args.scale, residual, n);
      r = residual;
      if (args.y) scale_by(r, args.gamma, inverse_rms(r, n, args.eps), args.y + t * n, n);
    } else if (args.y) {
      float* y = args.y + t * n;
      if (args.post_gamma) {
        scale_by(r, args.post_gamma, inverse_rms(r, n, args.eps), y, n);
        r = y;
      }
      scale_by(r, args.gamma, inverse_rms(r, n, args.eps), y, n);
    }
  }
}

}  // namespace puna::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace puna::kernels {

HWY_EXPORT(norm_rows);

void rms_norm_cpu(base::ThreadPool& pool, const NormCpuArgs& args) {
  const auto rows = [&](uint32_t begin, uint32_t end) {
    HWY_DYNAMIC_DISPATCH(norm_rows)(args, begin, end);
  };
  pool.run(args.n_rows, std::max(8192 / std::max(args.n, 1u), 1u), std::ref(rows));
}

}  // namespace puna::kernels
#endif
