// Embeddings of a model that gives logits: what its output layer reads.
#pragma once

#include "base/result.h"
#include "plan/graph.h"

namespace puna::plan {

// The graph without its output layer, whose input, [outputs, hidden], it gives instead; a graph of
// embeddings as it is. To be called before fuse(). Errors: kUnsupported when the head of the graph
// has no product.
base::Result<Graph> embeddings_of(Graph graph);

}  // namespace puna::plan
