// OwnConvOp: the role of kernels/conv/own_conv.h, a causal convolution over rows of encoders.
#pragma once

#include "kernels/conv/own_conv.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct OwnConvOp {
  std::string label;
  ValueId x;         // [rows, n_channels]
  ValueId before;    // [rows, before_stride]
  ValueId y;         // [rows, n_channels]
  VectorId weights;  // [n_channels, n_taps]
  kernels::OwnConvShape shape;

  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    use(op.before, Use::kRead);
    use(op.y, Use::kWrite);
  }
  std::vector<Constant> constants() const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

}  // namespace puna::plan
