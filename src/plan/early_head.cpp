#include "plan/early_head.h"

#include <algorithm>

namespace puna::plan {
namespace {

template <class T, class... Types>
constexpr bool kIsOneOf = (std::is_same_v<T, Types> || ...);

// A row of the result is made of the same row of what the op reads, wherever it stands.
bool keeps_rows_apart(const Op& op) {
  return std::visit(
      []<class T>(const T&) {
        return kIsOneOf<T, NormOp, NormPartsOp, MatmulOp, AddOp, ScaleOp, SoftcapOp, GluOp, MoeOp,
                        MultiplyOp, GateOp>;
      },
      op);
}

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

// Makes an op that keeps rows apart use `to` where it used `from`.
struct Rename {
  ValueId from, to;

  void operator()(NormOp& op) const { change(op.x, op.residual, op.y); }
  void operator()(NormPartsOp& op) const { change(op.x, op.y); }
  void operator()(ScaleOp& op) const { change(op.y); }
  void operator()(SoftcapOp& op) const { change(op.y); }
  void operator()(GluOp& op) const { change(op.gate_up, op.y); }
  void operator()(MoeOp& op) const { change(op.logits, op.x, op.y); }
  template <class Other>
  void operator()(Other& op) const {
    if constexpr (kIsOneOf<Other, MatmulOp, AddOp, MultiplyOp, GateOp>) change(op.x, op.y);
  }

 private:
  void change(auto&... values) const { ((values = values == from ? to : values), ...); }
};

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
    std::visit(Rename{graph.hidden, outputs}, graph.ops[i]);
    for (ValueId v : writes(graph.ops[i])) graph.values[v].rows = Rows::kOutputs;
  }
  const auto first = graph.ops.begin();
  std::rotate(first + static_cast<ptrdiff_t>(begin), first + static_cast<ptrdiff_t>(gather),
              first + static_cast<ptrdiff_t>(gather) + 1);
  graph.head_begin = begin;
  return graph;
}

}  // namespace puna::plan
