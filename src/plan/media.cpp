#include "plan/media.h"

#include <algorithm>

namespace puna::plan {
namespace {

bool is_read_by(const Op& op) {
  if (const auto* const lookup = std::get_if<EmbedOp>(&op))
    return lookup->of_media == kernels::EmbedMedia::kRows;
  return std::holds_alternative<AddMediaOp>(op);
}

bool asks_for_places(const Op& op) {
  if (const auto* const rope = std::get_if<RopeOp>(&op)) return rope->rope.sections.any();
  const auto* const attention = std::get_if<AttentionOp>(&op);
  return attention && attention->around;
}

}  // namespace

base::Result<Graph> take_media(Graph graph) {
  for (Op& op : graph.ops) {
    if (auto* const more = std::get_if<AddMediaOp>(&op)) {
      graph.media_columns = std::max(graph.media_columns, more->end(graph));
      continue;
    }
    auto* const lookup = std::get_if<EmbedOp>(&op);
    if (!lookup || lookup->row != kernels::EmbedRow::kToken) continue;
    // The embeddings come first.
    const bool first = graph.media_columns == 0;
    lookup->of_media = first ? kernels::EmbedMedia::kRows : kernels::EmbedMedia::kFirst;
    if (first) graph.media_columns = graph.values[lookup->out].columns;
  }
  if (graph.media_columns > 0) return graph;
  return base::fail(base::ErrorCode::kUnsupported,
                    "The model looks no tokens up, so that media cannot take their place.");
}

bool reads_media(const Graph& graph) { return std::ranges::any_of(graph.ops, is_read_by); }
bool reads_places(const Graph& graph) { return std::ranges::any_of(graph.ops, asks_for_places); }

}  // namespace puna::plan
