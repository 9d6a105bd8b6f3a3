// WkvOp: the role of kernels/wkv/wkv.h, which keeps state.
#pragma once

#include "kernels/wkv/wkv.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct WkvOp {
  std::string label;
  StateId state;
  ValueId in;
  ValueId v;
  ValueId y;
  std::optional<ValueId> extra;
  std::vector<VectorId> vectors;  // as many as the shape's constants, in their order
  kernels::WkvShape shape;

  static void values(auto& op, auto&& use) {
    use(op.in, Use::kRead);
    use(op.v, Use::kRead);
    use(op.y, Use::kWrite);
    if (op.extra) use(*op.extra, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
