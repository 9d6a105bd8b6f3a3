// AddOp: y += x.
#pragma once

#include "plan/ops/contract.h"

namespace puna::plan {

struct AddOp {
  std::string label;
  ValueId x;
  ValueId y;

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    use(op.y, Use::kUpdate);
  }
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
