#include "plan/tunable.h"

#include <algorithm>

namespace puna::plan {
namespace {

bool same(const kernels::MatmulArgs& a, const kernels::MatmulArgs& b) {
  return a.weight.type == b.weight.type && a.weight.rows == b.weight.rows &&
         a.weight.cols == b.weight.cols && a.max_rows == b.max_rows &&
         kernels::is_gated(a.epilogue) == kernels::is_gated(b.epilogue);
}

bool same(const kernels::AttentionArgs& a, const kernels::AttentionArgs& b) {
  return a.kv.n_kv_heads == b.kv.n_kv_heads && a.kv.head_dim == b.kv.head_dim &&
         a.max_rows == b.max_rows && a.causal == b.causal;
}

template <class Tunable, class Args>
void add(std::vector<Tunable>& all, Args args) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Tunable& t) { return same(t.args, args); });
  if (found != all.end()) {
    ++found->n_uses;
  } else {
    all.push_back({std::move(args), 1});
  }
}

kernels::MatmulArgs shape_of(const MatmulOp& op, const GpuPlan& plan,
                             const GpuPlanOptions& options) {
  kernels::MatmulArgs args;
  args.label = op.label;
  args.weight = plan.weights[op.weight];
  args.epilogue = kernels::is_gated(op.epilogue) ? op.epilogue : kernels::Epilogue::kStore;
  args.numerics = options.numerics;
  return args;
}

kernels::AttentionArgs shape_of(const AttentionOp& op, const Graph& graph, const CacheConfig& cache,
                                const GpuPlanOptions& options) {
  kernels::AttentionArgs args;
  args.label = op.label;
  const KvSpec& kv = graph.kv[op.layer];
  args.kv = {cache.type, cache.pages_of(kv.window), kv.n_kv_heads, kv.head_dim};
  args.n_heads = graph.n_heads;
  args.scale = op.scale;
  args.causal = op.causal;
  args.numerics = options.numerics;
  return args;
}

}  // namespace

TunableKernels tunable_kernels(const Graph& graph, const CacheConfig& cache, const GpuPlan& plan,
                               const GpuPlanOptions& options) {
  TunableKernels out;
  for (const uint32_t rows : {options.classes.front(), options.prompt_classes.back()}) {
    const size_t end = rows == 1 ? graph.ops.size() : graph.head_begin;
    for (size_t i = 0; i < end; ++i) {
      if (const auto* product = std::get_if<MatmulOp>(&graph.ops[i])) {
        kernels::MatmulArgs args = shape_of(*product, plan, options);
        args.max_rows = rows;
        add(out.products, std::move(args));
      } else if (const auto* attention = std::get_if<AttentionOp>(&graph.ops[i])) {
        kernels::AttentionArgs args = shape_of(*attention, graph, cache, options);
        args.max_rows = rows;
        add(out.attention, std::move(args));
      }
    }
  }
  return out;
}

}  // namespace puna::plan
