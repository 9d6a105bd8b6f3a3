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
  kernels::NormArgs args;
  args.label = label;
  args.step = at.plan.step;
  args.x = at.value(x);
  args.post_gamma = at.vector(post_gamma);
  args.residual = at.value(residual);
  args.scale = at.vector(scale);
  args.gamma = at.vector(gamma);
  args.y = at.value(y);
  args.n = at.columns(x);
  args.eps = eps;
  args.rows = at.rows(x);
  return kernels::rms_norm(at.device, args, calls);
}

void NormOp::run(const CpuRun& at) const {
  kernels::NormCpuArgs args;
  args.x = at.value(x);
  args.post_gamma = at.vector(post_gamma);
  args.residual = at.value(residual);
  args.scale = at.vector(scale);
  args.gamma = at.vector(gamma);
  args.y = at.value(y);
  args.n_rows = at.n_rows(x);
  args.n = at.columns(x);
  args.eps = eps;
  kernels::rms_norm_cpu(at.pool, args);
}

}  // namespace puna::plan
