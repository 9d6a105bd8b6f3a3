#include "plan/ops/local_attention.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

std::vector<Constant> LocalAttentionOp::constants() const { return {{{gamma}}, {{far}}}; }

Result<void> LocalAttentionOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  kernels::LocalAttentionArgs args;
  args.label = label;
  args.q = at.value(q);
  args.k = at.value(k);
  args.v = at.value(v);
  args.gamma = at.vector(gamma);
  args.far = at.vector(far);
  args.before = at.value(before);
  args.y = at.value(y);
  args.shape = shape;
  args.rows = at.rows(y);
  return kernels::local_attention(at.device, args, calls);
}

void LocalAttentionOp::run(const CpuRun& at) const {
  kernels::local_attention_cpu(
      at.pool, {at.value(q), at.value(k), at.value(v), at.vector(gamma), at.vector(far),
                at.value(before), at.value(y), at.n_rows(y), shape});
}

}  // namespace puna::plan
