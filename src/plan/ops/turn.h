// TurnOp: the role of kernels/mrope/mrope.h, on the first heads of a row.
#pragma once

#include "kernels/mrope/mrope.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct TurnOp {
  std::string label;
  ValueId y;
  ValueId positions;  // [rows, 4] of integers
  kernels::MropeShape shape;

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) {
    use(op.positions, Use::kRead);
    use(op.y, Use::kUpdate);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
