// MoeOp: the role of kernels/moe/moe.h.
#pragma once

#include "kernels/moe/moe.h"
#include "plan/ops/contract.h"

namespace puna::plan {

struct MoeOp {
  std::string label;
  kernels::MoeShape shape;
  ValueId logits;  // of the router
  ValueId x;
  ValueId y;
  bool adds = false;  // y += the experts' sum
  WeightId gate_up;
  WeightId down;
  std::optional<VectorId> selection_bias, gate_up_bias, down_bias;

  static constexpr bool kKeepsRowsApart = true;
  static void values(auto& op, auto&& use) {
    use(op.logits, Use::kRead);
    use(op.x, Use::kRead);
    use(op.y, op.adds ? Use::kUpdate : Use::kWrite);
  }
  std::vector<WeightId> weights() const { return {gate_up, down}; }
  std::vector<Constant> constants() const;
  uint64_t gpu_scratch_bytes(const GpuLowering& at) const;
  uint64_t cpu_scratch_bytes(const Graph& graph, uint32_t rows, int n_threads) const;
  base::Result<void> lower(const GpuLowering& at, std::vector<kernels::KernelCall>& calls) const;
  void run(const CpuRun& at) const;
};

// Of what the router leaves for the experts, which all layers share: the most of any batch class.
// Read-only to the kernels after the router, so not in the arena.
struct RoutesBytes {
  uint64_t routes = 0, groups = 0;
};
RoutesBytes routes_bytes(const Graph& graph, const std::vector<uint32_t>& classes);

}  // namespace puna::plan
