// RopeOp: the role of kernels/rope/rope.h.
#pragma once

#include "kernels/rope/rope.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct RopeOp {
  std::string label;
  uint32_t layer;
  ValueId qkv;
  ValueId q;
  std::optional<VectorId> q_norm, k_norm, freq_factors;
  float norm_eps = 1e-6f;
  kernels::RopeParams rope;
  bool v_norm = false;
  bool appends = true;  // false: qkv holds q heads only, `layer` is whose keys are read

  static void values(auto& op, auto&& use) {
    use(op.qkv, Use::kRead);
    use(op.q, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

// Its head norms and its table of turns, where it has them.
std::optional<kernels::Slice> head_norms(const GpuLowering& at, const RopeOp& op);
std::optional<kernels::Slice> turns(const GpuLowering& at, const RopeOp& op);

}  // namespace puna::plan
