// HeadsOp: y[t, h] = W[h] x[t, h], a matrix for each head: for each part that the weight has.
#pragma once

#include "plan/ops/contract.h"

namespace puna::plan {

struct HeadsOp {
  std::string label;
  WeightId weight;
  ValueId x;  // [tokens, n_parts * x_stride], of which a head's first elements are read
  ValueId y;  // [tokens, n_parts * y_stride], of which a head's first elements are written
  uint32_t x_stride = 0;
  uint32_t y_stride = 0;

  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    use(op.y, Use::kWrite);
  }
  std::vector<WeightId> weights() const { return {weight}; }
  uint64_t gpu_scratch_bytes(const GpuLowering& at) const;
  uint64_t cpu_scratch_bytes(const Graph& graph, uint32_t rows, int n_threads) const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
