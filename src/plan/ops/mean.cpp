#include "plan/ops/mean.h"

#include "kernels/reduce/reduce.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;
using kernels::Reduction;

Result<void> MeanOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::reduce(
      at.device,
      {label, at.value(x), at.value(y), {Reduction::kMean, n, at.columns(y)}, at.rows(y)}, calls);
}

void MeanOp::run(const CpuRun& at) const {
  kernels::reduce_cpu(
      at.pool, {at.value(x), at.value(y), at.n_rows(y), {Reduction::kMean, n, at.columns(y)}});
}

}  // namespace puna::plan
