#include "plan/ops/gather.h"

#include <cstring>

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

Result<void> GatherOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::gather_rows(
      at.device, {label, at.plan.step, at.whole(x), at.value(y), at.columns(x)}, calls);
}

void GatherOp::run(const CpuRun& at) const {
  const size_t n = at.columns(x);
  for (size_t i = 0; i < at.outputs.size(); ++i)
    std::memcpy(at.value(y) + i * n, at.value(x) + at.outputs[i] * n, n * sizeof(float));
}

}  // namespace puna::plan
