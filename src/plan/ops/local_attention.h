// LocalAttentionOp: the role of kernels/local_attention/local_attention.h, rows of encoders that
// attend to those right before them.
#pragma once

#include "kernels/local_attention/local_attention.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct LocalAttentionOp {
  std::string label;
  ValueId q, k, v;  // [rows, n_heads * head_dim]
  ValueId before;   // [rows, before_stride]
  ValueId y;        // [rows, n_heads * head_dim]
  VectorId gamma;   // [head_dim]
  VectorId far;     // [window, n_heads * head_dim]
  kernels::LocalAttentionShape shape;

  static void values(auto& op, auto&& use) {
    for (auto* const read : {&op.q, &op.k, &op.v, &op.before}) use(*read, Use::kRead);
    use(op.y, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
