// Media in prompts: rows that an encoder made of an image or a sound, in place of embeddings.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "plan/graph.h"

namespace puna::plan {

// The graph with Step::media where tokens are below zero; tables beside the embeddings, such as
// those of single layers, give their row of token 0 there. Rows are as wide as the embeddings and
// what the graph's AddMediaOps add of them together. To be called before fuse(). Errors:
// kUnsupported when the graph looks no tokens up.
base::Result<Graph> take_media(Graph graph);

// Whether ops of the graph read Step::media; layers behind the embeddings, on a device of their
// own, may not.
bool reads_media(const Graph& graph);
// Whether they read Step::places.
bool reads_places(const Graph& graph);

}  // namespace puna::plan
