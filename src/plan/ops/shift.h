// ShiftOp: the role of kernels/shift/shift.h, which keeps state. Several of one x share a state.
#pragma once

#include "kernels/shift/shift.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct ShiftOp {
  std::string label;
  StateId state;
  ValueId x;
  std::optional<ValueId> by;
  ValueId y;
  VectorId mix;
  kernels::ShiftShape shape;

  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    if (op.by) use(*op.by, Use::kRead);
    use(op.y, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
