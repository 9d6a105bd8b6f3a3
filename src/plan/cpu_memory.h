// CpuMemory: what a CpuProgram holds: packed weights, the cache, recurrent states, and an arena for
// activations.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/pages.h"
#include "base/result.h"
#include "kernels/matmul/cpu_matrix.h"
#include "plan/graph.h"
#include "plan/memory.h"
#include "plan/step.h"

namespace puna::plan {

struct CpuWeights {
  base::Pages memory;                                     // of the packed matrices
  std::vector<kernels::CpuMatrix> matrices;               // by WeightId
  std::vector<std::vector<float>> vectors;                // by VectorId
  kernels::Numerics numerics = kernels::Numerics::kFast;  // as the matrices were packed for
};

struct CpuMemory {
  // Errors: kUnsupported for heads that the cache's type does not take; kOutOfMemory naming the
  // cache or the arena and its size.
  static base::Result<CpuMemory> create(const Graph& graph, CpuWeights weights,
                                        const CacheConfig& cache, ArenaPlan plan);

  // The bytes of cache and recurrent states.
  static MemoryUse cache_use(const Graph& graph, const CacheConfig& cache);

  float* value(ValueId id) const {
    return reinterpret_cast<float*>(arena.get() + plan.values[id].offset);
  }
  std::byte* scratch(size_t op) const { return arena.get() + plan.scratch[op].offset; }

  struct Free {
    void operator()(std::byte* p) const;
  };
  using Bytes = std::unique_ptr<std::byte[], Free>;
  struct Layer {
    kernels::KvLayout layout;
    Bytes k, v;  // no v where values are part of the keys
  };
  struct State {
    size_t n = 0;       // floats of a slot
    Bytes live, saved;  // [n_sequences, n], [n_snapshots, n]
    float* slot(uint32_t sequence) const {
      return reinterpret_cast<float*>(live.get()) + sequence * n;
    }
    float* snapshot(uint32_t i) const { return reinterpret_cast<float*>(saved.get()) + i * n; }
  };

  CpuWeights weights;
  std::vector<Layer> layers;
  std::vector<State> states;  // by StateId
  ArenaPlan plan;
  Bytes arena;
  MemoryUse use;
};

}  // namespace puna::plan
