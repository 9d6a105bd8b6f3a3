// ConvOp: the role of kernels/conv/conv.h, which keeps state.
#pragma once

#include "kernels/conv/conv.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct ConvOp {
  std::string label;
  StateId state;
  ValueId x;
  ValueId y;
  VectorId weights;
  std::optional<VectorId> bias;
  kernels::ConvShape shape;

  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    use(op.y, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
