#include "plan/ops/softcap.h"

#include "kernels/elementwise/elementwise.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

Result<void> SoftcapOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::softcap(
      at.device, {label, at.plan.step, at.value(y), at.columns(y), cap, at.rows(y)}, calls);
}

void SoftcapOp::run(const CpuRun& at) const {
  kernels::softcap_cpu(at.pool, at.value(y), at.elements(y), cap);
}

}  // namespace puna::plan
