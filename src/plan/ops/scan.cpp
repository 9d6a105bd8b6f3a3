#include "plan/ops/scan.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

std::vector<Constant> ScanOp::constants() const { return {{{a, d}}}; }

Result<void> ScanOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::scan(
      at.device,
      {label, at.plan.step, at.value(x), at.value(dt), at.value(bc), at.value(in),
       at.constant({{a, d}}), at.plan.states[state].live, at.value(y), shape, at.max_rows},
      calls);
}

void ScanOp::run(const CpuRun& at) const {
  kernels::scan_cpu(at.pool, {at.step, at.value(x), at.value(dt), at.value(bc), at.value(in),
                              at.vector(a), at.vector(d), at.state(state), at.value(y), shape});
}

}  // namespace puna::plan
