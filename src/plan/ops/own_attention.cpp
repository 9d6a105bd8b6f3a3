#include "plan/ops/own_attention.h"

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

// Of heads of which each has keys of its own.
kernels::KvLayout layout(const OwnAttentionOp& op, uint32_t n_heads) {
  return {kernels::KvType::kF32, 0, n_heads, op.head_dim};
}

}  // namespace

uint64_t OwnAttentionOp::cpu_scratch_bytes(const Graph& graph, uint32_t rows, int n_threads) const {
  return kernels::attention_cpu_scratch_bytes(n_threads, graph.n_heads, head_dim, rows);
}

Result<void> OwnAttentionOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  kernels::AttentionArgs args;
  args.label = label;
  args.step = at.plan.step;
  args.q = at.value(qkv);
  args.own = true;
  args.spans = at.value(spans);
  args.out = at.value(out);
  args.kv = layout(*this, at.graph.n_heads);
  args.n_heads = at.graph.n_heads;
  args.scale = scale;
  args.causal = false;
  args.max_rows = at.max_rows;
  args.numerics = at.options.numerics;
  args.profile = at.options.profile;
  return kernels::attention(at.device, args, calls);
}

void OwnAttentionOp::run(const CpuRun& at) const {
  kernels::AttentionCpuArgs args;
  args.step = at.step;
  args.q = at.value(qkv);
  args.own = true;
  args.spans = reinterpret_cast<const uint32_t*>(at.value(spans));
  args.out = at.value(out);
  args.kv = layout(*this, at.graph.n_heads);
  args.n_heads = at.graph.n_heads;
  args.scale = scale;
  args.causal = false;
  args.scratch = at.scratch();
  args.numerics = at.memory.weights.numerics;
  kernels::attention_cpu(at.pool, args);
}

}  // namespace puna::plan
