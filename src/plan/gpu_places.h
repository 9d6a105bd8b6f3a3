// Where a device holds what lasts: weights, caches, states and the constants of ops. plan_gpu()
// lowers ops onto these places.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "plan/gpu_plan.h"

namespace puna::plan {

// The vectors that a kernel reads as one slice.
inline std::vector<VectorId> constants_of(const ConvOp& op) {
  return op.bias ? std::vector{op.weights, *op.bias} : std::vector{op.weights};
}
inline std::vector<VectorId> constants_of(const SsdOp& op) { return {op.a, op.d, op.dt_bias}; }
inline std::vector<VectorId> constants_of(const DeltaOp& op) { return {op.a, op.dt_bias}; }
inline std::vector<VectorId> constants_of(const GroupNormOp& op) { return {op.gamma}; }
// Of q heads and, where there are any, k heads.
inline std::vector<VectorId> norms_of(const RopeOp& op) {
  return op.k_norm ? std::vector<VectorId>{*op.q_norm, *op.k_norm}
                   : std::vector<VectorId>{*op.q_norm};
}
inline std::vector<VectorId> factors(const RopeOp& op) {
  return op.freq_factors ? std::vector<VectorId>{*op.freq_factors} : std::vector<VectorId>{};
}

class GpuPlaces {
 public:
  // Fills in buffers, weights, caches, states, constants and their memory in `plan`; all outlive
  // this.
  GpuPlaces(const Graph& graph, const CacheConfig& cache, const gpu::DeviceInfo& device,
            GpuPlan& plan)
      : graph_(graph), cache_(cache), device_(device), plan_(plan) {}
  // Errors: kUnsupported and kOutOfMemory where something exceeds the device's limits.
  base::Result<void> place();

  const GpuPlan::Kv& layer(uint32_t layer) const { return plan_.kv[layer]; }
  kernels::Slice vector(VectorId id) const { return constant({id}); }
  // What place() made of an op's vectors or of its rope.
  kernels::Slice constant(const std::vector<VectorId>& vectors,
                          const std::optional<kernels::RopeParams>& table = {}) const {
    return find_constant(vectors, table)->slice;
  }

 private:
  class Allocator;

  uint64_t shard_bytes() const;
  uint64_t binding_limit() const;
  base::Result<void> place_weights();
  base::Result<void> place_cache();
  base::Result<void> place_states();
  void place_constants();
  void add_constant(Allocator& allocator, std::vector<VectorId> vectors,
                    std::optional<kernels::RopeParams> table);
  const ConstantSpec* find_constant(const std::vector<VectorId>& vectors,
                                    const std::optional<kernels::RopeParams>& table) const;

  const Graph& graph_;
  const CacheConfig& cache_;
  const gpu::DeviceInfo& device_;
  GpuPlan& plan_;
};

}  // namespace puna::plan
