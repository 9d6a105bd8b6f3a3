// UnaryOp: y = f(y), the role of kernels/elementwise/unary.h.
#pragma once

#include "kernels/elementwise/unary.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct UnaryOp {
  std::string label;
  ValueId y;
  kernels::UnaryShape shape;

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) { use(op.y, Use::kUpdate); }
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
