#include "plan/ops/scale.h"

#include "kernels/elementwise/elementwise.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

std::vector<Constant> ScaleOp::constants() const {
  return by ? std::vector<Constant>{{{*by}}} : std::vector<Constant>{};
}

Result<void> ScaleOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::scale(
      at.device,
      {label, at.plan.step, at.value(y), at.columns(y), scale, at.vector(by), at.rows(y)}, calls);
}

void ScaleOp::run(const CpuRun& at) const {
  kernels::scale_cpu(at.pool, at.value(y), at.elements(y), by ? *at.vector(*by) : scale);
}

}  // namespace puna::plan
