#include "plan/ops/latent.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

std::vector<Constant> LatentOp::constants() const { return {{{gamma}}, {{}, shape.rope}}; }

Result<void> LatentOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  kernels::MlaArgs args;
  args.label = label;
  args.shape = shape;
  args.step = at.plan.step;
  args.pages = at.plan.pages;
  args.q = at.value(q);
  args.kv = at.value(kv);
  args.gamma = at.vector(gamma);
  args.table = at.constant({{}, shape.rope});
  args.q_out = at.value(q_out);
  args.k_cache = at.plan.kv[layer].k;
  args.layout = at.plan.kv[layer].layout;
  args.pages_per_sequence = at.cache.pages_per_sequence;
  return kernels::mla_append(at.device, args, calls);
}

void LatentOp::run(const CpuRun& at) const {
  kernels::MlaCpuArgs args;
  args.shape = shape;
  args.step = at.step;
  args.q = at.value(q);
  args.kv = at.value(kv);
  args.gamma = at.vector(gamma);
  args.q_out = at.value(q_out);
  args.k_cache = at.memory.layers[layer].k.get();
  args.layout = at.memory.layers[layer].layout;
  kernels::mla_append_cpu(at.pool, args);
}

}  // namespace puna::plan
