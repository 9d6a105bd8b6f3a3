#include "plan/media.h"

namespace puna::plan {

base::Result<Graph> take_media(Graph graph) {
  bool found = false;
  for (Op& op : graph.ops) {
    auto* const lookup = std::get_if<EmbedOp>(&op);
    if (!lookup || lookup->row != kernels::EmbedRow::kToken) continue;
    // The embeddings come first.
    lookup->of_media = found ? kernels::EmbedMedia::kFirst : kernels::EmbedMedia::kRows;
    found = true;
  }
  if (found) return graph;
  return base::fail(base::ErrorCode::kUnsupported,
                    "The model looks no tokens up, so that media cannot take their place.");
}

std::optional<uint32_t> media_columns(const Graph& graph) {
  for (const Op& op : graph.ops) {
    const auto* const lookup = std::get_if<EmbedOp>(&op);
    if (lookup && lookup->of_media == kernels::EmbedMedia::kRows)
      return graph.values[lookup->out].columns;
  }
  return {};
}

}  // namespace puna::plan
