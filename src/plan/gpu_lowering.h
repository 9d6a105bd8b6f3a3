// What an op is lowered with: where its values, weights and constants lie, in one batch class of a
// plan for one device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/device.h"
#include "plan/gpu_places.h"
#include "plan/gpu_plan.h"
#include "plan/graph.h"
#include "plan/memory.h"
#include "plan/ops/handovers.h"

namespace puna::plan {

struct GpuLowering {
  const Graph& graph;
  const CacheConfig& cache;
  const gpu::DeviceInfo& device;
  const GpuPlanOptions& options;
  const GpuPlan& plan;  // of which all buffers have their numbers
  const GpuPlaces& places;
  const ArenaPlan& arena;
  const Handovers& handovers;
  uint32_t max_rows = 1;  // of the batch class
  bool prompts = false;   // likewise
  size_t op = 0;          // the number in the graph of what is lowered

  // The same for another op.
  GpuLowering of(size_t other) const {
    GpuLowering out = *this;
    out.op = other;
    return out;
  }

  uint32_t columns(ValueId id) const { return graph.values[id].columns; }
  kernels::Rows rows(ValueId id) const { return graph.values[id].rows; }

  // Bound at the size of the class's rows, so that a small class does not claim the prefill's
  // slice.
  kernels::Slice value(ValueId id) const;
  std::optional<kernels::Slice> value(const std::optional<ValueId>& id) const;
  // The whole place, for values of tokens that the head reads.
  kernels::Slice whole(ValueId id) const { return place(arena.values[id]); }
  kernels::Slice scratch() const { return place(arena.scratch[op]); }

  // The page table of a layer of the cache.
  kernels::Slice pages(uint32_t layer) const {
    return cache.by_window(graph.kv[layer].window) ? *plan.window_pages : plan.pages;
  }

  kernels::Slice constant(const Constant& constant) const { return places.constant(constant); }
  kernels::Slice vector(VectorId id) const { return constant({{id}}); }
  std::optional<kernels::Slice> vector(const std::optional<VectorId>& id) const;

 private:
  kernels::Slice place(const ArenaPlan::Place& p) const {
    return {plan.arena.buffer, p.offset, p.bytes};
  }
};

}  // namespace puna::plan
