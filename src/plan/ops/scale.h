// ScaleOp: y *= a number, of the model or of a weight.
#pragma once

#include "plan/ops/contract.h"

namespace puna::plan {

struct ScaleOp {
  std::string label;
  ValueId y;
  float scale = 1.0f;
  std::optional<VectorId> by = {};  // [1], instead of scale

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) { use(op.y, Use::kUpdate); }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
