#include "plan/ops/turn.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

// The table does not depend on how many heads there are, nor on what stands beside them.
Constant table_of(kernels::MropeShape shape) {
  shape.n_heads = 1;
  shape.y_stride = 0;
  return {.vectors = {}, .sections = shape};
}

}  // namespace

std::vector<Constant> TurnOp::constants() const { return {table_of(shape)}; }

Result<void> TurnOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::mrope(at.device,
                        {.label = label,
                         .table = at.constant(table_of(shape)),
                         .positions = at.value(positions),
                         .y = at.value(y),
                         .shape = shape,
                         .rows = at.rows(y),
                         .positions_in_arena = true},
                        calls);
}

void TurnOp::run(const CpuRun& at) const {
  kernels::mrope_cpu(at.pool, {reinterpret_cast<const int32_t*>(at.value(positions)), at.value(y),
                               at.n_rows(y), shape});
}

}  // namespace puna::plan
