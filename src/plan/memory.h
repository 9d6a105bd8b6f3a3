// Static memory planning: every activation gets a place in one arena by its lifetime, for a given
// number of rows.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/graph.h"

namespace puna::plan {

constexpr uint64_t kArenaAlignment = 256;  // WebGPU's minimal storage buffer offset alignment
// Bytes rounded up to that.
constexpr uint64_t aligned(uint64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

struct ArenaPlan {
  struct Place {
    uint64_t offset = 0;  // bytes, a multiple of kArenaAlignment
    uint64_t bytes = 0;
  };
  std::vector<Place> values;   // by ValueId
  std::vector<Place> scratch;  // by op; empty places where an op needs none
  uint64_t bytes = 0;
};

// Values alive at the same time never overlap; scratch lives for its op, and on through the ops
// after it that share its x (MatmulOp::shares_x). The hidden state and the logits live to the end,
// so that the head can run again for further outputs.
//   scratch_bytes  by op
// Greedy by size: the largest first, each at the lowest place where it fits.
ArenaPlan plan_arena(const Graph& graph, uint32_t n_tokens, uint32_t n_outputs,
                     const std::vector<uint64_t>& scratch_bytes);

}  // namespace puna::plan
