#include "plan/ops/latent.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

Constant turns_of(const LatentOp& op) {
  Constant out{{}, op.shape.rope};
  if (op.freq_factors) out.vectors.push_back(*op.freq_factors);
  return out;
}

}  // namespace

std::vector<Constant> LatentOp::constants() const { return {{{gamma}}, turns_of(*this)}; }

Result<void> LatentOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  kernels::MlaArgs args;
  args.label = label;
  args.shape = shape;
  args.step = at.plan.step;
  args.pages = at.plan.pages;
  args.q = at.value(q);
  args.kv = at.value(kv);
  args.gamma = at.vector(gamma);
  args.table = at.constant(turns_of(*this));
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
  args.freq_factors = at.vector(freq_factors);
  args.q_out = at.value(q_out);
  args.k_cache = at.memory.layers[layer].k.get();
  args.layout = at.memory.layers[layer].layout;
  kernels::mla_append_cpu(at.pool, args);
}

}  // namespace puna::plan
