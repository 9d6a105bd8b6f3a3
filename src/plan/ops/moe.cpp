#include "plan/ops/moe.h"

#include <algorithm>

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

kernels::MoeArgs moe_args(const GpuLowering& at, const MoeOp& op) {
  kernels::MoeArgs args;
  args.label = op.label;
  args.shape = op.shape;
  args.gate_up = at.plan.weights[op.gate_up];
  args.down = at.plan.weights[op.down];
  args.step = at.plan.step;
  args.logits = at.value(op.logits);
  args.x = at.value(op.x);
  args.y = at.value(op.y);
  args.selection_bias = at.vector(op.selection_bias);
  args.gate_up_bias = at.vector(op.gate_up_bias);
  args.down_bias = at.vector(op.down_bias);
  args.adds = op.adds;
  args.routes = at.plan.routes;
  args.groups = at.plan.groups;
  args.scratch = at.scratch();
  args.numerics = at.options.numerics;
  args.max_rows = at.max_rows;
  args.rows = at.rows(op.x);
  return args;
}

}  // namespace

RoutesBytes routes_bytes(const Graph& graph, const std::vector<uint32_t>& classes) {
  RoutesBytes out;
  for (const Op& op : graph.ops) {
    const auto* moe = std::get_if<MoeOp>(&op);
    for (uint32_t rows : classes) {
      if (!moe) break;
      out.routes = std::max(out.routes, kernels::moe_routes_bytes(moe->shape, rows));
      out.groups = std::max(out.groups, kernels::moe_groups_bytes(moe->shape, rows));
    }
  }
  return out;
}

std::vector<Constant> MoeOp::constants() const {
  std::vector<Constant> out;
  for (const auto& vector : {selection_bias, gate_up_bias, down_bias}) {
    if (vector) out.push_back({{*vector}});
  }
  return out;
}

uint64_t MoeOp::gpu_scratch_bytes(const GpuLowering& at) const {
  return kernels::moe_scratch_bytes(at.device, moe_args(at, *this));
}

uint64_t MoeOp::cpu_scratch_bytes(const Graph&, uint32_t rows, int) const {
  return kernels::moe_cpu_scratch_bytes(shape, rows);
}

Result<void> MoeOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::moe(at.device, moe_args(at, *this), calls);
}

void MoeOp::run(const CpuRun& at) const {
  kernels::MoeCpuArgs args;
  args.shape = shape;
  args.gate_up = &at.matrix(gate_up);
  args.down = &at.matrix(down);
  args.logits = at.value(logits);
  args.selection_bias = at.vector(selection_bias);
  args.gate_up_bias = at.vector(gate_up_bias);
  args.down_bias = at.vector(down_bias);
  args.x = at.value(x);
  args.y = at.value(y);
  args.adds = adds;
  args.n_rows = at.n_rows(x);
  args.scratch = at.scratch();
  kernels::moe_cpu(at.pool, args);
}

}  // namespace puna::plan
