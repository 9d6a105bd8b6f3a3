#include "plan/ops/add_media.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

kernels::AddMediaShape shape_of(const Graph& graph, const AddMediaOp& op) {
  const uint32_t n = graph.values[op.x].columns;
  return {n, op.part * n, graph.media_columns};
}

}  // namespace

uint32_t AddMediaOp::end(const Graph& graph) const { return (part + 1) * graph.values[x].columns; }

Result<void> AddMediaOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::add_media(
      at.device, {label, at.plan.step, *at.plan.media, at.value(x), shape_of(at.graph, *this)},
      calls);
}

void AddMediaOp::run(const CpuRun& at) const {
  kernels::add_media_cpu(at.pool, {at.tokens.data(), at.step.n_tokens, at.media.data(), at.value(x),
                                   shape_of(at.graph, *this)});
}

}  // namespace puna::plan
