#include "plan/ops/rope.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

// Of q heads and, where there are any, k heads.
Constant norms_of(const RopeOp& op) {
  return op.k_norm ? Constant{{*op.q_norm, *op.k_norm}} : Constant{{*op.q_norm}};
}

Constant turns_of(const RopeOp& op) {
  Constant out{{}, op.rope};
  if (op.freq_factors) out.vectors.push_back(*op.freq_factors);
  return out;
}

}  // namespace

std::vector<Constant> RopeOp::constants() const {
  std::vector<Constant> out;
  if (q_norm) out.push_back(norms_of(*this));
  if (rope.n_rot > 0) out.push_back(turns_of(*this));
  return out;
}

std::optional<kernels::Slice> head_norms(const GpuLowering& at, const RopeOp& op) {
  if (!op.q_norm) return {};
  return at.constant(norms_of(op));
}

std::optional<kernels::Slice> turns(const GpuLowering& at, const RopeOp& op) {
  if (op.rope.n_rot == 0) return {};
  return at.constant(turns_of(op));
}

Result<void> RopeOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  const size_t next = at.op + 1;
  if (next < at.graph.ops.size()) {
    const auto* attention = std::get_if<AttentionOp>(&at.graph.ops[next]);
    if (attention && plan::appends(at.of(next), *attention)) return {};
  }
  kernels::RopeArgs args;
  args.label = label;
  args.step = at.plan.step;
  args.pages = at.pages(layer);
  args.qkv = at.value(qkv);
  args.head_norms = head_norms(at, *this);
  args.table = turns(at, *this);
  args.q_out = at.value(q);
  args.v_norm = v_norm;
  args.appends = appends;
  args.k_cache = at.plan.kv[layer].k;
  args.v_cache = at.plan.kv[layer].v;
  args.kv = at.plan.kv[layer].layout;
  args.n_heads = at.graph.n_heads;
  args.pages_per_sequence = at.cache.pages_per_sequence;
  args.norm_eps = norm_eps;
  args.rope = rope;
  return kernels::rope_append(at.device, args, calls);
}

void RopeOp::run(const CpuRun& at) const {
  const CpuMemory::Layer& cache = at.memory.layers[layer];
  kernels::RopeCpuArgs args;
  args.step = at.step_of(layer);
  args.qkv = at.value(qkv);
  args.q_norm = at.vector(q_norm);
  args.k_norm = at.vector(k_norm);
  args.freq_factors = at.vector(freq_factors);
  args.q_out = at.value(q);
  args.k_cache = cache.k.get();
  args.v_cache = cache.v.get();
  if (!appends) args.k_cache = args.v_cache = nullptr;
  args.v_norm = v_norm;
  args.kv = cache.layout;
  args.n_heads = at.graph.n_heads;
  args.norm_eps = norm_eps;
  args.rope = rope;
  kernels::rope_append_cpu(at.pool, args);
}

}  // namespace puna::plan
