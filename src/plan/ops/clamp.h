// ClampOp: y = min(max(x, low), high), the bounds being numbers of the file; two passes of
// kernels/elementwise/binary.h, and a copy where x stays as it is.
#pragma once

#include "plan/ops/contract.h"

namespace puna::plan {

struct ClampOp {
  std::string label;
  ValueId y;
  VectorId low, high;             // [1]
  std::optional<ValueId> x = {};  // none: in place on y

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) {
    if (op.x) use(*op.x, Use::kRead);
    use(op.y, op.x ? Use::kWrite : Use::kUpdate);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
