// SoftcapOp: y = cap * tanh(y / cap).
#pragma once

#include "plan/ops/contract.h"

namespace puna::plan {

struct SoftcapOp {
  std::string label;
  ValueId y;
  float cap = 0.0f;

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) { use(op.y, Use::kUpdate); }
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
