#include "plan/ops/group_norm.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

std::vector<Constant> GroupNormOp::constants() const { return {{{gamma}}}; }

Result<void> GroupNormOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::group_norm(
      at.device, {label, at.value(x), at.vector(gamma), at.value(y), at.value(gate), shape}, calls);
}

void GroupNormOp::run(const CpuRun& at) const {
  kernels::group_norm_cpu(
      at.pool, {at.value(x), at.vector(gamma), at.value(gate), at.value(y), at.n_rows(x), shape});
}

}  // namespace puna::plan
