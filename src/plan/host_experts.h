// Takes the experts of layers out of a graph that a GPU is to run, for the host to compute in the
// middle of its steps: they are most of a mixture's weights and the least of its work. Attention,
// router, norms and shared experts stay (docs/decisions/experts-on-the-cpu.md).
#pragma once

#include <cstdint>
#include <vector>

#include "plan/graph.h"

namespace puna::plan {

struct HostExperts {
  Graph device;  // with a HostOp in place of each op that went
  Graph host;    // these ops, each for itself: the one of HostOp::index is run when its turn comes
};

// Layers that have experts, rising.
std::vector<uint32_t> expert_layers(const Graph& graph);

// Takes out the experts of layers below `end`. The graph is not fused yet: to a sum that stands
// behind experts, the GPU adds what the host hands it. host.ops is empty where there are none.
HostExperts host_experts(Graph graph, uint32_t end);

}  // namespace puna::plan
