// ScanOp: the role of kernels/scan/scan.h, which keeps state.
#pragma once

#include "kernels/scan/scan.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct ScanOp {
  std::string label;
  StateId state;
  ValueId x;
  ValueId dt;
  ValueId bc;
  ValueId in;
  ValueId y;
  VectorId a, d;
  kernels::ScanShape shape;

  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    use(op.dt, Use::kRead);
    use(op.bc, Use::kRead);
    use(op.in, Use::kRead);
    use(op.y, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
