#include "plan/ops/unary.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

Result<void> UnaryOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::unary(at.device,
                        {label, at.value(y), {function, at.columns(y), with}, at.rows(y)}, calls);
}

void UnaryOp::run(const CpuRun& at) const {
  kernels::unary_cpu(at.pool, {at.value(y), at.n_rows(y), {function, at.columns(y), with}});
}

}  // namespace puna::plan
