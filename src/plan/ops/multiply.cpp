#include "plan/ops/multiply.h"

#include "kernels/elementwise/binary.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

kernels::BinaryShape shape_of(const MultiplyOp& op, uint32_t columns) {
  return {kernels::Binary::kMultiply, columns, kernels::Spread::kElements, op.part, op.n_parts};
}

}  // namespace

Result<void> MultiplyOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::binary(at.device,
                         {.label = label,
                          .x = at.value(x),
                          .y = at.value(y),
                          .shape = shape_of(*this, at.columns(y)),
                          .rows = at.rows(y)},
                         calls);
}

void MultiplyOp::run(const CpuRun& at) const {
  kernels::binary_cpu(at.pool,
                      {at.value(x), at.value(y), at.n_rows(y), shape_of(*this, at.columns(y))});
}

}  // namespace puna::plan
