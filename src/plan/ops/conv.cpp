#include "plan/ops/conv.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

Constant weights_of(const ConvOp& op) {
  return op.bias ? Constant{{op.weights, *op.bias}} : Constant{{op.weights}};
}

}  // namespace

std::vector<Constant> ConvOp::constants() const { return {weights_of(*this)}; }

Result<void> ConvOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::conv(at.device,
                       {label, at.plan.step, at.value(x), at.constant(weights_of(*this)),
                        at.plan.states[state].live, at.value(y), shape, at.max_rows},
                       calls);
}

void ConvOp::run(const CpuRun& at) const {
  kernels::conv_cpu(at.pool, {at.step, at.value(x), at.vector(weights), at.vector(bias),
                              at.state(state), at.value(y), shape});
}

}  // namespace puna::plan
