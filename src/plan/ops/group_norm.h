// GroupNormOp: the role of kernels/group_norm/group_norm.h.
#pragma once

#include "kernels/group_norm/group_norm.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct GroupNormOp {
  std::string label;
  ValueId x;
  std::optional<ValueId> gate;
  ValueId y;
  VectorId gamma;
  kernels::GroupNormShape shape;

  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    if (op.gate) use(*op.gate, Use::kRead);
    use(op.y, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
