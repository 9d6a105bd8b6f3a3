// Media in prompts: rows that an encoder made of an image or a sound, in place of embeddings.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "plan/graph.h"

namespace puna::plan {

// The graph with Step::media where tokens are below zero; tables beside the embeddings, such as
// those of single layers, give their row of token 0 there. To be called before fuse(). Errors:
// kUnsupported when the graph looks no tokens up.
base::Result<Graph> take_media(Graph graph);

// Elements of a row of Step::media; none where the graph takes no media.
std::optional<uint32_t> media_columns(const Graph& graph);

}  // namespace puna::plan
