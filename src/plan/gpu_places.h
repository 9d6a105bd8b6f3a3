// Where a device holds what lasts: weights, caches, states and the constants of ops. plan_gpu()
// lowers ops onto these places.
#pragma once

#include "base/result.h"
#include "plan/gpu_plan.h"

namespace puna::plan {

class GpuPlaces {
 public:
  // Fills in buffers, weights, caches, states, constants and their memory in `plan`; all outlive
  // this.
  GpuPlaces(const Graph& graph, const CacheConfig& cache, const gpu::DeviceInfo& device,
            GpuPlan& plan)
      : graph_(graph), cache_(cache), device_(device), plan_(plan) {}
  // Errors: kUnsupported and kOutOfMemory where something exceeds the device's limits.
  base::Result<void> place();

  // Where place() put one of the ops' constants.
  kernels::Slice constant(const Constant& constant) const;

 private:
  class Allocator;

  uint64_t shard_bytes() const;
  uint64_t binding_limit() const;
  base::Result<void> place_weights();
  base::Result<void> place_cache();
  base::Result<void> place_states();
  void place_constants();
  const ConstantSpec* find(const Constant& constant) const;

  const Graph& graph_;
  const CacheConfig& cache_;
  const gpu::DeviceInfo& device_;
  GpuPlan& plan_;
};

}  // namespace puna::plan
