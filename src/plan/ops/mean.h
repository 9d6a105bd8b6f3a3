// MeanOp: the mean of each run of n columns, the role of kernels/reduce/reduce.h.
#pragma once

#include "plan/ops/contract.h"

namespace puna::plan {

struct MeanOp {
  std::string label;
  ValueId x;  // [rows, columns * n]
  ValueId y;  // [rows, columns]
  uint32_t n = 1;

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    use(op.y, Use::kWrite);
  }
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
