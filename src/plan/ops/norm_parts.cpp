#include "plan/ops/norm_parts.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

std::vector<Constant> NormPartsOp::constants() const {
  std::vector<Constant> out;
  for (const auto& vector : {gamma, beta}) {
    if (vector) out.push_back({{*vector}});
  }
  return out;
}

Result<void> NormPartsOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  kernels::NormPartsArgs args;
  args.label = label;
  args.step = at.plan.step;
  args.x = at.value(x);
  args.y = at.value(y);
  args.gamma = at.vector(gamma);
  args.beta = at.vector(beta);
  args.shape = shape;
  args.rows = at.rows(x);
  return kernels::norm_parts(at.device, args, calls);
}

void NormPartsOp::run(const CpuRun& at) const {
  kernels::norm_parts_cpu(
      at.pool, {at.value(x), at.value(y), at.vector(gamma), at.vector(beta), shape, at.n_rows(x)});
}

}  // namespace puna::plan
