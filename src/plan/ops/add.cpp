#include "plan/ops/add.h"

#include "kernels/elementwise/binary.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

Result<void> AddOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::binary(at.device,
                         {.label = label,
                          .x = at.value(x),
                          .y = at.value(y),
                          .shape = {kernels::Binary::kAdd, at.columns(y)},
                          .rows = at.rows(y)},
                         calls);
}

void AddOp::run(const CpuRun& at) const {
  kernels::binary_cpu(
      at.pool, {at.value(x), at.value(y), at.n_rows(y), {kernels::Binary::kAdd, at.columns(y)}});
}

}  // namespace puna::plan
