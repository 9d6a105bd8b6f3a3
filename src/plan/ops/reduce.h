// ReduceOp: what each run of n columns adds up to, the role of kernels/reduce/reduce.h.
#pragma once

#include "kernels/reduce/reduce.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct ReduceOp {
  std::string label;
  ValueId x;  // [rows, columns * n]
  ValueId y;  // [rows, columns]
  uint32_t n = 1;
  kernels::Reduction reduction = kernels::Reduction::kMean;  // one that gives a number

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    use(op.y, Use::kWrite);
  }
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
