// MatmulOp: the role of kernels/matmul/matmul.h.
#pragma once

#include "kernels/matmul/matmul.h"
#include "plan/ops/contract.h"
#include "plan/ops/norm.h"

namespace puna::plan {

struct MatmulOp {
  std::string label;
  WeightId weight;
  ValueId x;
  ValueId y;
  uint32_t y_column = 0;
  kernels::Epilogue epilogue = kernels::Epilogue::kStore;
  float softcap = 0.0f;
  float scale = 1.0f;
  std::optional<VectorId> bias = {};
  kernels::Activation activation = kernels::Activation::kSilu;  // of kActivate
  bool shares_x = false;  // the op before is a product with the same x: its int8 form may be reused
  // What x is made of, when that is a plain norm right before its readers, all of them products; a
  // product may then make it itself.
  std::optional<NormOp> x_norm = {};
  // The op after is such a norm, of what this product adds up to; it may then hand over the norm's
  // y (kernels/matmul/matmul.h).
  std::optional<NormOp> y_norm = {};
  bool feeds_next = false;  // the op after is a product, and the only reader of y

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) {
    use(op.x, Use::kRead);
    if (op.x_norm) use(op.x_norm->x, Use::kRead);
    use(op.y, op.epilogue == kernels::Epilogue::kAdd ? Use::kUpdate : Use::kWrite);
    if (op.y_norm) use(*op.y_norm->y, Use::kWrite);
  }
  std::vector<WeightId> weights() const { return {weight}; }
  std::vector<Constant> constants() const;
  uint64_t gpu_scratch_bytes(const GpuLowering& at) const;
  uint64_t cpu_scratch_bytes(const Graph& graph, uint32_t rows, int n_threads) const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

// Planes of int8 in which a product reads its activations (kernels/matmul/matmul.h) where numerics
// are fast: 2 for rows whose logits are wanted. Nothing after those products evens their rounding
// out, and the rows are few (docs/numerics.md). The CPU has another way for the last of them.
uint32_t x_planes(const Graph& graph, const MatmulOp& op);

// The call's arguments, but for what products hand over to each other (handovers.h).
kernels::MatmulArgs matmul_args(const GpuLowering& at, const MatmulOp& op);
// The product makes the norm of its x itself in this batch class.
bool makes_norm(const GpuLowering& at, const MatmulOp& op);

}  // namespace puna::plan
