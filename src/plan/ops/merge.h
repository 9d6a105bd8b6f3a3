// MergeOp: neighbouring rows side by side in one, the role of kernels/copy/copy.h. The rows of a
// cell of a picture become one row of the encoder's outputs.
#pragma once

#include "plan/ops/contract.h"

namespace puna::plan {

struct MergeOp {
  std::string label;
  ValueId x;               // [rows * n, columns]
  ValueId y;               // [rows, n * columns]
  uint32_t n = 1;          // rows of x that become one
  bool by_column = false;  // the n values of a column stand together, not the columns of a row

  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    use(op.y, Use::kWrite);
  }
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
