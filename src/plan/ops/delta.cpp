#include "plan/ops/delta.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

std::vector<Constant> DeltaOp::constants() const { return {{{a, dt_bias}}}; }

Result<void> DeltaOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::delta(
      at.device,
      {label, at.plan.step, at.value(qkv), at.value(in), at.constant({{a, dt_bias}}),
       at.plan.states[state].live, at.value(y), shape, at.max_rows},
      calls);
}

void DeltaOp::run(const CpuRun& at) const {
  kernels::delta_cpu(at.pool, {at.step, at.value(qkv), at.value(in), at.vector(a),
                               at.vector(dt_bias), at.state(state), at.value(y), shape});
}

}  // namespace puna::plan
