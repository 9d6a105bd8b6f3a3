// SsdOp: the role of kernels/ssd/ssd.h, which keeps state.
#pragma once

#include "kernels/ssd/ssd.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct SsdOp {
  std::string label;
  StateId state;
  ValueId xbc;
  ValueId in;
  ValueId y;
  VectorId a, d, dt_bias;
  kernels::SsdShape shape;

  static void values(auto& op, auto&& use) {
    use(op.xbc, Use::kRead);
    use(op.in, Use::kRead);
    use(op.y, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
