#include "plan/ops/unary.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

Result<void> UnaryOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::unary(
      at.device, {.label = label, .y = at.value(y), .shape = shape, .rows = at.rows(y)}, calls);
}

void UnaryOp::run(const CpuRun& at) const {
  kernels::unary_cpu(at.pool, {at.value(y), at.n_rows(y), shape});
}

}  // namespace puna::plan
