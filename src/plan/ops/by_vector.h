// ByVectorOp: y = y op v, v being one row of the file for all rows, the role of
// kernels/elementwise/binary.h.
#pragma once

#include "kernels/elementwise/binary.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct ByVectorOp {
  std::string label;
  VectorId v;  // [columns]
  ValueId y;
  kernels::Binary op = kernels::Binary::kMultiply;

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) { use(op.y, Use::kUpdate); }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
