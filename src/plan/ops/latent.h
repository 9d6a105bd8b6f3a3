// LatentOp: the role of kernels/mla/mla.h; q_out's other part is a HeadsOp's before it.
#pragma once

#include "kernels/mla/mla.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct LatentOp {
  std::string label;
  uint32_t layer;
  kernels::MlaShape shape;
  ValueId q;
  ValueId kv;
  ValueId q_out;
  VectorId gamma;
  std::optional<VectorId> freq_factors = {};

  static void values(auto& op, auto&& use) {
    use(op.q, Use::kRead);
    use(op.kv, Use::kRead);
    use(op.q_out, Use::kUpdate);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
