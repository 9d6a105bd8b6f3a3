#include "plan/ops/norm.h"

#include "kernels/norm/norm.h"
#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

// The products after the norm make it themselves, every one.
bool is_made_by_readers(const GpuLowering& at, const NormOp& norm) {
  const std::vector<Op>& ops = at.graph.ops;
  size_t n = 0;
  for (size_t i = at.op + 1; i < ops.size(); ++i, ++n) {
    const auto* product = std::get_if<MatmulOp>(&ops[i]);
    if (!product || !product->x_norm || product->x_norm->y != norm.y) break;
    if (!makes_norm(at.of(i), *product)) return false;
  }
  return n > 0;
}

// What the GPU's call and the CPU's are given alike; `at` says where values and vectors lie.
template <class Args>
Args operands(const NormOp& op, const auto& at) {
  Args args;
  args.x = at.value(op.x);
  args.post_gamma = at.vector(op.post_gamma);
  args.residual = at.value(op.residual);
  args.scale = at.vector(op.scale);
  args.gamma = at.vector(op.gamma);
  args.y = at.value(op.y);
  args.n = at.columns(op.x);
  args.eps = op.eps;
  return args;
}

}  // namespace

std::vector<Constant> NormOp::constants() const {
  std::vector<Constant> out;
  for (const auto& vector : {gamma, post_gamma, scale}) {
    if (vector) out.push_back({{*vector}});
  }
  return out;
}

Result<void> NormOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  const bool is_made_before = at.op > 0 && at.handovers.given[at.op - 1];
  if (is_made_before || is_made_by_readers(at, *this)) return {};
  auto args = operands<kernels::NormArgs>(*this, at);
  args.label = label;
  args.step = at.plan.step;
  args.rows = at.rows(x);
  if (at.handovers.given[at.op]) {
    const auto& reader = std::get<MatmulOp>(at.graph.ops[at.op + 1]);
    args.y16 = kernels::matmul_x16(matmul_args(at.of(at.op + 1), reader));
    args.y.reset();
  }
  return kernels::rms_norm(at.device, args, calls);
}

void NormOp::run(const CpuRun& at) const {
  auto args = operands<kernels::NormCpuArgs>(*this, at);
  args.n_rows = at.n_rows(x);
  kernels::rms_norm_cpu(at.pool, args);
}

}  // namespace puna::plan
