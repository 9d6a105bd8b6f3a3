// HostOp: where the host computes something in the middle of a GPU's step (host_experts.h). It has
// no kernels: the plan of a batch class says between which of its calls it stands
// (GpuPlan::HostCall).
#pragma once

#include "plan/ops/contract.h"

namespace puna::plan {

struct HostOp {
  std::string label;
  uint32_t index = 0;      // of the op in the host's graph
  std::vector<ValueId> x;  // what that reads, in the order of plan::reads()
  ValueId y = 0;           // what it writes

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) {
    for (auto& value : op.x) use(value, Use::kRead);
    use(op.y, Use::kWrite);
  }
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  // No graph of the CPU has it.
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
