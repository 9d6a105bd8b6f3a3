// NormOp: the role of kernels/norm/norm.h.
#pragma once

#include "plan/ops/contract.h"

namespace puna::plan {

struct NormOp {
  std::string label;
  ValueId x;
  std::optional<VectorId> post_gamma;
  std::optional<ValueId> residual;  // updated in place
  std::optional<VectorId> gamma;
  std::optional<ValueId> y;
  float eps = 1e-6f;
  std::optional<VectorId> scale = {};  // [1], of the residual

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    if (op.residual) use(*op.residual, Use::kUpdate);
    if (op.y) use(*op.y, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
