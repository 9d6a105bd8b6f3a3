// Cuts a graph in two at the beginning of a layer, for two devices: the first layers and the
// embedding here, the last layers and the output layer there. What layers remember of a sequence
// stays where the layer is; what crosses is handed over once a step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/graph.h"

namespace puna::plan {

struct Split {
  Graph first;  // has no head: its values `hands_over` are the result
  Graph rest;   // begins with the values `takes_over`, in the same order
};

// 3 of "blk.3.ffn_down"; none for ops outside of the layers.
std::optional<uint32_t> layer_of(const Op& op);

// Layers of a graph, by the names of its ops.
uint32_t n_layers(const Graph& graph);

// Layers, from 1 on, that a graph can be cut in front of: no layer from there on reads keys or
// state of an earlier one.
std::vector<uint32_t> cuts(const Graph& graph);

// `layer` is one of cuts(graph). The graph is not fused yet: fusion merges ops of neighbouring
// layers. What a part does not use is dropped there.
Split split(const Graph& graph, uint32_t layer);

// Weights that no op uses keep their place with 0 rows; so do states, with 0 elements, and layers
// of the cache, with 0 heads.
void drop_unused(Graph& graph);

}  // namespace puna::plan
