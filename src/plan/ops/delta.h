// DeltaOp: the role of kernels/delta/delta.h, which keeps state.
#pragma once

#include "kernels/delta/delta.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct DeltaOp {
  std::string label;
  StateId state;
  ValueId qkv;
  ValueId in;
  ValueId y;
  VectorId a, dt_bias;
  kernels::DeltaShape shape;

  static void values(auto& op, auto&& use) {
    use(op.qkv, Use::kRead);
    use(op.in, Use::kRead);
    use(op.y, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
