#include "plan/ops/attention.h"

#include <algorithm>

#include "plan/cpu_run.h"
#include "plan/gpu_lowering.h"

namespace puna::plan {

using base::Result;
using kernels::KernelCall;

namespace {

kernels::AttentionArgs attention_args(const GpuLowering& at, const AttentionOp& op) {
  const GpuPlan::Kv& cache = at.plan.kv[op.layer];
  kernels::AttentionArgs args;
  args.label = op.label;
  args.step = at.plan.step;
  args.pages = at.pages(op.layer);
  args.q = at.value(op.q);
  if (op.append) {
    args.append = {at.value(op.append->qkv), head_norms(at, *op.append), turns(at, *op.append),
                   op.append->v_norm,        op.append->norm_eps,        op.append->rope};
  }
  args.k_cache = cache.k;
  args.v_cache = cache.v;
  args.out = at.value(op.out);
  args.scratch = at.scratch();
  args.kv = cache.layout;
  args.n_heads = at.graph.n_heads;
  args.pages_per_sequence = at.cache.pages_per_sequence;
  args.scale = op.scale;
  args.softcap = op.softcap;
  args.max_alibi_bias = op.max_alibi_bias;
  args.window = op.window;
  args.chunks = op.chunks;
  args.causal = op.causal;
  args.places = op.around;
  args.v_dim = op.v_dim;
  args.sinks = at.vector(op.sinks);
  args.biases = at.vector(op.biases);
  args.bias_reach = op.bias_reach;
  args.max_rows = at.max_rows;
  args.prompts = at.prompts;
  args.max_singles = at.cache.n_sequences > 1 ? at.cache.n_sequences : 0;
  args.numerics = at.options.numerics;
  args.profile = at.options.profile;
  return args;
}

}  // namespace

bool appends(const GpuLowering& at, const AttentionOp& op) {
  return kernels::attention_appends(at.device, attention_args(at, op));
}

bool hands_bytes(const GpuLowering& at, const AttentionOp& op) {
  return kernels::attention_hands(at.device, attention_args(at, op));
}

AttentionLimits attention_limits(const GpuLowering& at) {
  std::optional<AttentionLimits> out;
  for (size_t i = 0; i < at.graph.ops.size(); ++i) {
    const auto* op = std::get_if<AttentionOp>(&at.graph.ops[i]);
    if (op == nullptr) continue;
    const kernels::AttentionArgs args = attention_args(at.of(i), *op);
    const AttentionLimits own = {kernels::attention_max_splits(at.device, args),
                                 kernels::attention_max_singles(args)};
    if (!out) out = own;
    *out = {std::min(out->splits, own.splits), std::min(out->singles, own.singles)};
  }
  return out.value_or(AttentionLimits{});
}

std::vector<Constant> AttentionOp::constants() const {
  std::vector<Constant> out;
  if (sinks) out.push_back({{*sinks}});
  if (biases) out.push_back({{*biases}});
  return out;
}

uint64_t AttentionOp::gpu_scratch_bytes(const GpuLowering& at) const {
  return kernels::attention_scratch_bytes(at.device, attention_args(at, *this));
}

uint64_t AttentionOp::cpu_scratch_bytes(const Graph& graph, uint32_t rows, int n_threads) const {
  return kernels::attention_cpu_scratch_bytes(n_threads, graph.n_heads, graph.kv[layer].head_dim,
                                              rows);
}

Result<void> AttentionOp::lower(const GpuLowering& at, std::vector<KernelCall>& calls) const {
  kernels::AttentionArgs args = attention_args(at, *this);
  if (!kernels::attention_appends(at.device, args)) args.append.reset();
  args.hands_bytes = at.handovers.given[at.op].has_value();
  return kernels::attention(at.device, args, calls);
}

void AttentionOp::run(const CpuRun& at) const {
  const CpuMemory::Layer& cache = at.memory.layers[layer];
  kernels::AttentionCpuArgs args;
  args.step = at.step_of(layer);
  if (!around) args.step.places = nullptr;
  args.q = at.value(q);
  args.k_cache = cache.k.get();
  args.v_cache = at.graph.kv[layer].v_in_k ? args.k_cache : cache.v.get();
  args.v_dim = v_dim;
  args.out = at.value(out);
  args.kv = cache.layout;
  args.n_heads = at.graph.n_heads;
  args.scale = scale;
  args.softcap = softcap;
  args.max_alibi_bias = max_alibi_bias;
  args.window = window;
  args.chunks = chunks;
  args.causal = causal;
  args.sinks = at.vector(sinks);
  args.biases = at.vector(biases);
  args.bias_reach = bias_reach;
  args.scratch = at.scratch();
  args.numerics = at.memory.weights.numerics;
  kernels::attention_cpu(at.pool, args);
}

}  // namespace puna::plan
