#include "plan/ops/by_vector.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;
using kernels::Spread;

std::vector<Constant> ByVectorOp::constants() const { return {{{v}}}; }

Result<void> ByVectorOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::binary(at.device,
                         {.label = label,
                          .x = at.vector(v),
                          .y = at.value(y),
                          .shape = {op, at.columns(y), Spread::kRow},
                          .x_is_constant = true,
                          .rows = at.rows(y)},
                         calls);
}

void ByVectorOp::run(const CpuRun& at) const {
  kernels::binary_cpu(at.pool,
                      {at.vector(v), at.value(y), at.n_rows(y), {op, at.columns(y), Spread::kRow}});
}

}  // namespace puna::plan
