#include "plan/ops/shift.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

std::vector<Constant> ShiftOp::constants() const { return {{{mix}}}; }

Result<void> ShiftOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::shift(at.device,
                        {label, at.plan.step, at.value(x), at.vector(mix),
                         at.plan.states[state].live, at.value(y), at.value(by), shape, at.max_rows},
                        calls);
}

void ShiftOp::run(const CpuRun& at) const {
  kernels::shift_cpu(at.pool, {at.step, at.value(x), at.vector(mix), at.value(by), at.state(state),
                               at.value(y), shape});
}

}  // namespace puna::plan
