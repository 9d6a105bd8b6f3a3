// MultiplyOp: y *= part of x.
#pragma once

#include "plan/ops/contract.h"

namespace puna::plan {

struct MultiplyOp {
  std::string label;
  ValueId x;
  ValueId y;
  uint32_t part = 0, n_parts = 1;

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    use(op.y, Use::kUpdate);
  }
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
