#include "plan/ops/merge.h"

#include "kernels/copy/copy.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

kernels::CopyShape shape_of(const MergeOp& op, uint32_t n_rows, uint32_t columns) {
  const uint32_t row = op.n * columns;
  if (!op.by_column) return {{n_rows, row}, {row, 1}, {row, 1}};
  return {{n_rows, columns, op.n}, {row, 1, columns}, {row, op.n, 1}};
}

}  // namespace

Result<void> MergeOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::copy(at.device,
                       {.label = label,
                        .x = at.rows(x) == at.rows(y) ? at.value(x) : at.whole(x),
                        .y = at.value(y),
                        .shape = shape_of(*this, at.max_rows, at.columns(x)),
                        .rows = at.rows(y)},
                       calls);
}

void MergeOp::run(const CpuRun& at) const {
  kernels::copy_cpu(at.pool,
                    {at.value(x), at.value(y), shape_of(*this, at.n_rows(y), at.columns(x))});
}

}  // namespace puna::plan
