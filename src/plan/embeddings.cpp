#include "plan/embeddings.h"

#include <algorithm>

namespace puna::plan {
namespace {

bool uses(const Op& op, WeightId weight) {
  const auto* product = std::get_if<MatmulOp>(&op);
  const auto* lookup = std::get_if<EmbedOp>(&op);
  return (product && product->weight == weight) || (lookup && lookup->weight == weight);
}

}  // namespace

base::Result<Graph> embeddings_of(Graph graph) {
  if (graph.embeds) return graph;
  const auto head = graph.ops.begin() + static_cast<ptrdiff_t>(graph.head_begin);
  const auto first = std::find_if(
      head, graph.ops.end(), [](const Op& op) { return std::holds_alternative<MatmulOp>(op); });
  if (first == graph.ops.end()) {
    return base::fail(base::ErrorCode::kUnsupported,
                      "The model has no output layer whose input could be its embedding.");
  }
  graph.logits = std::get<MatmulOp>(*first).x;
  graph.embeds = true;
  const std::vector<Op> removed(first, graph.ops.end());
  graph.ops.erase(first, graph.ops.end());
  // The output layer is the last weight that a model names, unless it is the embedding table.
  const auto used_by = [](const std::vector<Op>& ops, WeightId weight) {
    return std::ranges::any_of(ops, [&](const Op& op) { return uses(op, weight); });
  };
  for (size_t n = graph.weights.size(); n > 0; --n) {
    const auto last = static_cast<WeightId>(n - 1);
    if (!used_by(removed, last) || used_by(graph.ops, last)) break;
    graph.weights.pop_back();
  }
  return graph;
}

}  // namespace puna::plan
