// AddMediaOp: the role of kernels/embed/add_media.h.
#pragma once

#include "kernels/embed/add_media.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct AddMediaOp {
  std::string label;
  ValueId x;
  uint32_t part = 1;  // of a row of Step::media, in parts as wide as x; 0 is the embedding

  static void values(auto& op, auto&& use) { use(op.x, Use::kUpdate); }
  uint32_t end(const Graph& graph) const;  // of what it reads of a row
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
