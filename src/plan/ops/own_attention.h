// OwnAttentionOp: the role of kernels/attention/attention.h for rows that attend to each other
// without a cache, as those of encoders do.
#pragma once

#include "kernels/attention/attention.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct OwnAttentionOp {
  std::string label;
  ValueId qkv;                   // [rows, 3 * heads * head_dim]
  ValueId out;                   // [rows, heads * head_dim]
  std::optional<ValueId> spans;  // [rows, 2] of integers; none: a row sees all
  uint32_t head_dim = 0;
  float scale = 1.0f;

  static void values(auto& op, auto&& use) {
    use(op.qkv, Use::kRead);
    if (op.spans) use(*op.spans, Use::kRead);
    use(op.out, Use::kWrite);
  }
  uint64_t cpu_scratch_bytes(const Graph& graph, uint32_t rows, int n_threads) const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
