// Step: the rows of one pass through the model, and what executors need to know of the KV cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/step.h"

namespace puna::plan {

// Row t is one token of one sequence. At most CacheConfig::step_rows rows.
struct Step {
  std::vector<int32_t> tokens;
  std::vector<int32_t> positions;     // absolute, in its sequence
  std::vector<uint32_t> sequences;    // rows of the page table
  std::vector<uint32_t> output_rows;  // rows whose logits are wanted
  // Rows in place of embeddings, [any, Graph::media_columns]: a token below zero, -1 - i, stands
  // for row i. Only of a graph that takes media.
  std::vector<float> media;
  // How each row stands to media; empty: all are rows of texts without any.
  std::vector<kernels::RowPlace> places;
  // Of a graph that takes over values: these, one after the other, [n_tokens, columns] each. They
  // live until the step has been taken (Executor::run, or decode, has returned).
  std::span<const float> handed;
  uint32_t n_tokens() const { return static_cast<uint32_t>(tokens.size()); }
  // Adds tokens of a sequence, the first at position `first`; their places are the caller's to add.
  void add(uint32_t sequence, std::span<const int32_t> more, uint32_t first);
};

// The step after `step` of a decode: row i is the token chosen after row output_rows[i] of `step`,
// not known yet.
Step next_step(const Step& step, std::span<const uint32_t> output_rows);

// The size of the cache, fixed at load.
struct CacheConfig {
  kernels::KvType type = kernels::KvType::kF16;
  uint32_t n_pages = 0;  // of kernels::kPageTokens tokens, shared by all sequences
  // Of layers with a window, which then have a page table of their own; 0: they share the other.
  uint32_t n_window_pages = 0;
  uint32_t n_sequences = 1;         // rows of the page table
  uint32_t pages_per_sequence = 0;  // columns of the page table
  uint32_t n_snapshots = 0;         // copies of a sequence's recurrent state that may be kept
  // Rows of a step at most. More than kernels::kMaxStepTokens where large steps of prompts pay
  // (docs/decisions/large-steps.md) and for media whose rows attend to each other, up to
  // kernels::kStepRoom both; and of graphs without a cache.
  uint32_t step_rows = kernels::kMaxStepTokens;
  // Outputs that one run of a head takes; 0: as the number of sequences and kHeadRows have it.
  uint32_t head_rows = 0;
  uint32_t context() const { return pages_per_sequence * kernels::kPageTokens; }
  // Whether a layer, whose readers see `window` positions (0: all), has the pages of windows.
  bool by_window(uint32_t window) const { return window > 0 && n_window_pages > 0; }
  uint32_t pages_of(uint32_t window) const { return by_window(window) ? n_window_pages : n_pages; }
};

// Bytes on the device, for reports. All of it is allocated at load.
struct MemoryUse {
  uint64_t weights = 0;
  uint64_t kv = 0;       // with recurrent states and their snapshots
  uint64_t arena = 0;    // activations, and what holds the state of a step
  uint64_t staging = 0;  // on the way from and to the host; the ring of the load is freed after it

  uint64_t total() const { return weights + kv + arena + staging; }
  MemoryUse& operator+=(const MemoryUse& more) {
    weights += more.weights;
    kv += more.kv;
    arena += more.arena;
    staging += more.staging;
    return *this;
  }
  bool operator==(const MemoryUse&) const = default;
};

// Rows of outputs that one run of a head takes where the batch does not ask for more; longer lists
// run it again.
constexpr uint32_t kHeadRows = 16;

}  // namespace puna::plan
