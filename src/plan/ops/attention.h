// AttentionOp: the role of kernels/attention/attention.h.
#pragma once

#include "kernels/attention/attention.h"
#include "plan/ops/contract.h"
#include "plan/ops/rope.h"

namespace puna::plan {

struct AttentionOp {
  std::string label;
  uint32_t layer;
  ValueId q;
  ValueId out;
  float scale = 1.0f;
  float softcap = 0.0f;
  uint32_t window = 0;
  bool chunks = false;  // of the window
  bool causal = true;
  bool around = false;                 // rows attend to those around them that Step::places says
  std::optional<VectorId> sinks = {};  // [n_heads]
  uint32_t v_dim = 0;                  // 0 = the cache's head_dim
  // The op right before, when q comes from it: a step of one row may do its work here.
  std::optional<RopeOp> append = {};
  float max_alibi_bias = 0.0f;          // 0 = no ALiBi
  std::optional<VectorId> biases = {};  // [n_heads, 2 * bias_reach + 1]
  uint32_t bias_reach = 0;
  bool feeds_next = false;  // the op after is a product, and the only reader of out

  static void values(auto& op, auto&& use) {
    use(op.q, Use::kRead);
    if (op.append) use(op.append->qkv, Use::kRead);
    use(op.out, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  uint64_t gpu_scratch_bytes(const GpuLowering& at) const;
  uint64_t cpu_scratch_bytes(const Graph& graph, uint32_t rows, int n_threads) const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

// In this batch class attention does what the rope op before it would.
bool appends(const GpuLowering& at, const AttentionOp& op);
// The result can be left as int8 in this batch class.
bool hands_bytes(const GpuLowering& at, const AttentionOp& op);
// What every attention of the graph takes in this batch class: parts of the keys, and rows beside
// those of prompts (kernels::StepShape).
struct AttentionLimits {
  uint32_t splits = 1, singles = 0;
};
AttentionLimits attention_limits(const GpuLowering& at);

}  // namespace puna::plan
