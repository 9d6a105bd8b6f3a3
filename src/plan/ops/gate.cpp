#include "plan/ops/gate.h"

#include "kernels/elementwise/elementwise.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

Result<void> GateOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::gate(
      at.device,
      {label, at.plan.step, at.value(x), at.value(y), at.columns(y), at.columns(x), at.rows(y)},
      calls);
}

void GateOp::run(const CpuRun& at) const {
  kernels::gate_cpu(at.pool, at.value(x), at.value(y), at.n_rows(y), at.columns(y), at.columns(x));
}

}  // namespace puna::plan
