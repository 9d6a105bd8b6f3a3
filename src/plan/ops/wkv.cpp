#include "plan/ops/wkv.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

std::vector<Constant> WkvOp::constants() const { return {{vectors}}; }

Result<void> WkvOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  return kernels::wkv(
      at.device,
      {label, at.plan.step, at.value(in), at.value(v), at.constant({vectors}),
       at.plan.states[state].live, at.value(y), at.value(extra), shape, at.max_rows},
      calls);
}

void WkvOp::run(const CpuRun& at) const {
  kernels::WkvCpuArgs args{at.step,         at.value(in), at.value(v),     {},
                           at.state(state), at.value(y),  at.value(extra), shape};
  for (size_t i = 0; i < vectors.size(); ++i) args.constants[i] = at.vector(vectors[i]);
  kernels::wkv_cpu(at.pool, args);
}

}  // namespace puna::plan
