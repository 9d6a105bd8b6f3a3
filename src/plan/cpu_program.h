// CpuProgram: a graph bound to packed weights, a cache and an arena, run op by op on a thread pool.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "plan/cpu_memory.h"
#include "plan/graph.h"
#include "plan/step.h"

namespace puna::plan {

struct CpuRun;

class CpuProgram {
 public:
  // What create() would take, without it.
  static MemoryUse memory_of(const Graph& graph, const CacheConfig& cache, int n_threads);
  // `pool` outlives the program. Errors: kOutOfMemory naming the cache or the arena and its size.
  static base::Result<std::unique_ptr<CpuProgram>> create(Graph graph, CpuWeights weights,
                                                          const CacheConfig& cache,
                                                          base::ThreadPool& pool);

  // Page tables, [n_sequences, pages_per_sequence] each; that of layers with windows is empty where
  // there are no pages of their own.
  struct Pages {
    std::span<const uint32_t> all, window = {};
  };
  // Runs the step. Logits [output_rows, n_out], or of a graph that hands over values these, one
  // after the other, [n_tokens, columns] each. op_us, unless empty, gets the microseconds of each
  // op of the graph.
  void run(const Step& step, const Pages& pages, std::span<float> logits,
           std::span<double> op_us = {});

  // The same in parts, of a graph without a cache whose outputs one run of the head takes: runs ops
  // from `first` on until `enough` says so after one of them. The op to go on with, n_ops() at the
  // end, where `out` is filled; the step is the same for all parts.
  size_t run_part(const Step& step, size_t first, std::span<float> out,
                  const std::function<bool()>& enough);
  size_t n_ops() const { return graph_.ops.size(); }

  // Runs one op by itself, which looks at nothing of the step but its number of rows. x: what it
  // reads, [n_rows, columns] one after the other in the order of plan::reads(); y: what it writes.
  void run_op(size_t op, uint32_t n_rows, std::span<const float> x, std::span<float> y);

  // Copies the recurrent state of a sequence to a snapshot (below CacheConfig::n_snapshots), or
  // back.
  void save_state(uint32_t sequence, uint32_t snapshot);
  void restore_state(uint32_t snapshot, uint32_t sequence);

  // What lies in memory of a page of the cache: by layer keys, then values, each with its scales;
  // of the layers with windows where they have pages of their own, or of the others.
  std::vector<std::span<std::byte>> page(uint32_t index, bool of_windows);
  // A snapshot of one recurrent state.
  std::span<std::byte> saved_state(StateId state, uint32_t snapshot);

  const CpuWeights& weights() const { return memory_.weights; }
  MemoryUse memory() const { return memory_.use; }
  const Graph& graph() const { return graph_; }

 private:
  void take_over(const Step& step);
  CpuRun run_of(const Step& step, const Pages& pages) const;
  void hand_over(uint32_t n_tokens, std::span<float> out) const;

  Graph graph_;
  CacheConfig cache_;
  base::ThreadPool* pool_ = nullptr;
  CpuMemory memory_;
  uint32_t head_rows_ = kHeadRows;  // outputs of one run of the head
};

}  // namespace puna::plan
