#include "plan/ops/glu.h"

#include "kernels/elementwise/elementwise.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

Result<void> GluOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::glu(
      at.device,
      {label, at.plan.step, at.value(gate_up), at.value(y), at.columns(y), activation, at.rows(y)},
      calls);
}

void GluOp::run(const CpuRun& at) const {
  kernels::glu_cpu(at.pool, at.value(gate_up), at.value(y), at.n_rows(y), at.columns(y),
                   activation);
}

}  // namespace puna::plan
