#include "plan/ops/heads.h"

#include "kernels/matmul/matmul.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

kernels::MatmulArgs heads_args(const GpuLowering& at, const HeadsOp& op) {
  const uint32_t n_heads = at.graph.weights[op.weight].n_parts;
  kernels::MatmulArgs args;
  args.label = op.label;
  args.weight = at.plan.weights[op.weight];
  args.step = at.plan.step;
  args.x = at.value(op.x);
  args.x_stride = op.x_stride;
  args.y = at.value(op.y);
  args.y_stride = op.y_stride;
  args.parts = kernels::MatmulParts{.n_parts = n_heads, .n_slots = n_heads, .x_of_pairs = true};
  args.numerics = at.options.numerics;
  args.max_rows = at.max_rows;
  args.scratch = at.scratch();
  return args;
}

// On the CPU, of one head.
uint64_t head_scratch_bytes(const Graph& graph, const HeadsOp& op, uint32_t rows) {
  return kernels::matmul_cpu_scratch_bytes(graph.weights[op.weight].columns, rows);
}

}  // namespace

uint64_t HeadsOp::gpu_scratch_bytes(const GpuLowering& at) const {
  return kernels::matmul_scratch_bytes(at.device, heads_args(at, *this));
}

uint64_t HeadsOp::cpu_scratch_bytes(const Graph& graph, uint32_t rows, int) const {
  return graph.weights[weight].n_parts * head_scratch_bytes(graph, *this, rows);
}

Result<void> HeadsOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::matmul(at.device, heads_args(at, *this), calls);
}

void HeadsOp::run(const CpuRun& at) const {
  const uint32_t n_heads = at.graph.weights[weight].n_parts;
  const uint64_t bytes = head_scratch_bytes(at.graph, *this, at.n_rows(x));
  std::vector<kernels::MatmulCpuArgs> products(n_heads);
  for (uint32_t h = 0; h < n_heads; ++h) {
    kernels::MatmulCpuArgs& args = products[h];
    args.weight = &at.matrix(weight);
    args.n_weight_rows = args.weight->rows() / n_heads;
    args.first_row = h * args.n_weight_rows;
    args.x = at.value(x) + size_t{h} * x_stride;
    args.x_stride = n_heads * x_stride;
    args.y = at.value(y) + size_t{h} * y_stride;
    args.y_stride = n_heads * y_stride;
    args.n_rows = at.n_rows(x);
    args.scratch = at.scratch() + h * bytes;
  }
  kernels::matmul_cpu(at.pool, products);
}

}  // namespace puna::plan
