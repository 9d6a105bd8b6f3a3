// GluOp: y = activation(gate) * up, of both side by side.
#pragma once

#include "kernels/common/activation.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct GluOp {
  std::string label;
  ValueId gate_up;
  ValueId y;
  kernels::Activation activation;

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) {
    use(op.gate_up, Use::kRead);
    use(op.y, Use::kWrite);
  }
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
