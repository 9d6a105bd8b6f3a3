#include "plan/ops/ssd.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

std::vector<Constant> SsdOp::constants() const { return {{{a, d, dt_bias}}}; }

Result<void> SsdOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::ssd(
      at.device,
      {label, at.plan.step, at.value(xbc), at.value(in), at.constant({{a, d, dt_bias}}),
       at.plan.states[state].live, at.value(y), shape, at.max_rows},
      calls);
}

void SsdOp::run(const CpuRun& at) const {
  kernels::ssd_cpu(at.pool, {at.step, at.value(xbc), at.value(in), at.vector(a), at.vector(d),
                             at.vector(dt_bias), at.state(state), at.value(y), shape});
}

}  // namespace puna::plan
