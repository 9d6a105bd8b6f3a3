// NormPartsOp: the role of kernels/norm/norm_parts.h, in place or y apart.
#pragma once

#include "kernels/norm/norm_parts.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct NormPartsOp {
  std::string label;
  ValueId x;
  std::optional<ValueId> y;
  std::optional<VectorId> gamma, beta;
  kernels::NormPartsShape shape;

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) {
    use(op.x, op.y ? Use::kRead : Use::kUpdate);
    if (op.y) use(*op.y, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
