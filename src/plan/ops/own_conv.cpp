#include "plan/ops/own_conv.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

std::vector<Constant> OwnConvOp::constants() const { return {{{weights}}}; }

Result<void> OwnConvOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::own_conv(
      at.device,
      {label, at.value(x), at.vector(weights), at.value(before), at.value(y), shape, at.rows(y)},
      calls);
}

void OwnConvOp::run(const CpuRun& at) const {
  kernels::own_conv_cpu(at.pool, {at.value(x), at.vector(weights), at.value(before), at.value(y),
                                  at.n_rows(y), shape});
}

}  // namespace puna::plan
