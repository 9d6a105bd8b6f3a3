// GatherOp: the rows whose logits are wanted (kernels/gather/gather.h).
#pragma once

#include "kernels/gather/gather.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct GatherOp {
  // The same for all of them, under the name that it has in other ops.
  // NOLINTNEXTLINE(readability-identifier-naming)
  static constexpr const char* label = "outputs";
  ValueId x;  // rows of tokens
  ValueId y;  // rows of outputs

  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    use(op.y, Use::kWrite);
  }
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
