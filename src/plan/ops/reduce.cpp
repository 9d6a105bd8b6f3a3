#include "plan/ops/reduce.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

Result<void> ReduceOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::reduce(
      at.device, {label, at.value(x), at.value(y), {reduction, n, at.columns(y)}, at.rows(y)},
      calls);
}

void ReduceOp::run(const CpuRun& at) const {
  kernels::reduce_cpu(at.pool,
                      {at.value(x), at.value(y), at.n_rows(y), {reduction, n, at.columns(y)}});
}

}  // namespace puna::plan
