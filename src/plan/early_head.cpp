#include "plan/early_head.h"

#include <algorithm>

namespace puna::plan {
namespace {

// By value: ops [begin, end) read or write it.
std::vector<bool> used(const Graph& graph, size_t begin, size_t end) {
  std::vector<bool> out(graph.values.size());
  for (size_t i = begin; i < end; ++i) {
    for (ValueId v : reads(graph.ops[i])) out[v] = true;
    for (ValueId v : writes(graph.ops[i])) out[v] = true;
  }
  return out;
}

// Ops [begin, gather) share `hidden`, and nothing else, with those before.
bool needs_only_hidden(const Graph& graph, size_t begin, size_t gather) {
  const std::vector<bool> before = used(graph, 0, begin), here = used(graph, begin, gather);
  for (ValueId v = 0; v < graph.values.size(); ++v) {
    if ((before[v] && here[v]) != (v == graph.hidden)) return false;
  }
  return true;
}

}  // namespace

Graph begin_head_early(Graph graph) {
  const size_t gather = graph.head_begin;
  size_t begin = gather;
  bool multiplies = false;  // else nothing is saved, and a border may keep ops from being fused
  for (size_t i = gather; i > 0 && keeps_rows_apart(graph.ops[i - 1]); --i) {
    multiplies = multiplies || !weights(graph.ops[i - 1]).empty();
    if (multiplies && needs_only_hidden(graph, i - 1, gather)) begin = i - 1;
  }
  const ValueId outputs = std::get<GatherOp>(graph.ops[gather]).y;
  for (size_t i = begin; i < gather; ++i) {
    rename(graph.ops[i], graph.hidden, outputs);
    for (ValueId v : writes(graph.ops[i])) graph.values[v].rows = Rows::kOutputs;
  }
  const auto first = graph.ops.begin();
  std::rotate(first + static_cast<ptrdiff_t>(begin), first + static_cast<ptrdiff_t>(gather),
              first + static_cast<ptrdiff_t>(gather) + 1);
  graph.head_begin = begin;
  return graph;
}

}  // namespace puna::plan
