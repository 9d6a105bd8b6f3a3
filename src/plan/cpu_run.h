// What an op runs with on the CPU: its operands in memory and the rows of the step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/thread_pool.h"
#include "plan/cpu_memory.h"
#include "plan/graph.h"

namespace puna::plan {

struct CpuRun {
  const Graph& graph;
  const CpuMemory& memory;
  base::ThreadPool& pool;
  kernels::CpuStep step;
  const uint32_t* window_pages =
      nullptr;  // the page table of layers with windows; null: the step's
  std::span<const int32_t> tokens;
  std::span<const float> media;       // of tokens below zero
  std::span<const uint32_t> outputs;  // rows picked by the gather
  size_t op = 0;                      // the number in the graph of what runs

  // The step as a layer of the cache has it: with its page table.
  kernels::CpuStep step_of(uint32_t layer) const {
    kernels::CpuStep out = step;
    if (window_pages && graph.kv[layer].window > 0) out.pages = window_pages;
    return out;
  }

  float* value(ValueId id) const { return memory.value(id); }
  float* value(const std::optional<ValueId>& id) const { return id ? value(*id) : nullptr; }
  const float* vector(VectorId id) const { return memory.weights.vectors[id].data(); }
  const float* vector(const std::optional<VectorId>& id) const {
    return id ? vector(*id) : nullptr;
  }
  const kernels::CpuMatrix& matrix(WeightId id) const { return memory.weights.matrices[id]; }
  // Slots of a recurrent state, by sequence.
  float* state(StateId id) const { return memory.states[id].slot(0); }
  std::byte* scratch() const { return memory.scratch(op); }

  uint32_t columns(ValueId id) const { return graph.values[id].columns; }
  uint32_t n_rows(ValueId id) const {
    return graph.values[id].rows == Rows::kTokens ? step.n_tokens
                                                  : static_cast<uint32_t>(outputs.size());
  }
  uint64_t elements(ValueId id) const { return uint64_t{n_rows(id)} * columns(id); }
};

}  // namespace puna::plan
