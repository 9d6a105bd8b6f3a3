// CpuProgram: a graph bound to packed weights, a cache and an arena, run op by op on a thread pool.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/pages.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/matmul/cpu_matrix.h"
#include "plan/graph.h"
#include "plan/memory.h"
#include "plan/step.h"

namespace puna::plan {

struct CpuWeights {
  base::Pages memory;                        // of the packed matrices
  std::vector<kernels::CpuMatrix> matrices;  // by WeightId
  std::vector<std::vector<float>> vectors;   // by VectorId
};

class CpuProgram {
 public:
  // `pool` outlives the program. Errors: kOutOfMemory naming the cache or the arena and its size.
  static base::Result<std::unique_ptr<CpuProgram>> create(Graph graph, CpuWeights weights,
                                                          const CacheConfig& cache,
                                                          base::ThreadPool& pool);

  // Runs the step. pages [n_sequences, pages_per_sequence]; logits [output_rows, n_out], or of a
  // graph that hands over values these, one after the other, [n_tokens, columns] each. op_us,
  // unless empty, gets the microseconds of each op of the graph.
  void run(const Step& step, std::span<const uint32_t> pages, std::span<float> logits,
           std::span<double> op_us = {});

  // Copies the recurrent state of a sequence to a snapshot (below CacheConfig::n_snapshots), or
  // back.
  void save_state(uint32_t sequence, uint32_t snapshot);
  void restore_state(uint32_t snapshot, uint32_t sequence);

  // What lies in memory of a page of the cache: by layer keys, then values, each with its scales.
  std::vector<std::span<std::byte>> page(uint32_t index);
  // A snapshot of one recurrent state.
  std::span<std::byte> saved_state(StateId state, uint32_t snapshot);

  const CpuWeights& weights() const { return weights_; }
  MemoryUse memory() const { return memory_; }
  const Graph& graph() const { return graph_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  using Bytes = std::unique_ptr<std::byte[], Free>;
  struct Layer {
    kernels::KvLayout layout;
    Bytes k, v;
  };
  struct State {
    size_t n = 0;       // floats of a slot
    Bytes live, saved;  // [n_sequences, n], [n_snapshots, n]
    float* slot(uint32_t sequence) const {
      return reinterpret_cast<float*>(live.get()) + sequence * n;
    }
    float* snapshot(uint32_t i) const { return reinterpret_cast<float*>(saved.get()) + i * n; }
  };
  struct Runner;

  void hand_over(uint32_t n_tokens, std::span<float> out) const;
  static base::Result<Bytes> allocate(uint64_t bytes, const char* what);

  Graph graph_;
  CpuWeights weights_;
  CacheConfig cache_;
  base::ThreadPool* pool_ = nullptr;
  ArenaPlan plan_;
  uint32_t head_rows_ = kHeadRows;  // outputs of one run of the head
  std::vector<Layer> layers_;
  std::vector<State> states_;  // by StateId
  Bytes arena_;
  MemoryUse memory_;
};

}  // namespace puna::plan
