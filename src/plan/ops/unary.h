// UnaryOp: y = f(y), element by element, the role of kernels/elementwise/unary.h.
#pragma once

#include <array>

#include "kernels/elementwise/unary.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct UnaryOp {
  std::string label;
  ValueId y;
  kernels::Unary function;
  std::array<float, 4> with = {};  // what the function takes besides

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) { use(op.y, Use::kUpdate); }
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
