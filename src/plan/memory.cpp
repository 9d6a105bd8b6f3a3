#include "plan/memory.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace puna::plan {
namespace {

struct Interval {
  uint64_t bytes = 0;
  size_t first = SIZE_MAX;  // op that touches it first
  size_t last = 0;          // op that touches it last
  bool used() const { return first != SIZE_MAX && bytes > 0; }
  void touch(size_t op) {
    first = std::min(first, op);
    last = std::max(last, op);
  }
};

// The lowest offset where `bytes` fit between the places of `busy`.
uint64_t first_fit(std::vector<ArenaPlan::Place> busy, uint64_t bytes) {
  std::sort(busy.begin(), busy.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  uint64_t offset = 0;
  for (const ArenaPlan::Place& b : busy) {
    if (offset + bytes <= b.offset) break;
    offset = std::max(offset, b.offset + b.bytes);
  }
  return offset;
}

}  // namespace

ArenaPlan plan_arena(const Graph& graph, uint32_t n_tokens, uint32_t n_outputs,
                     const std::vector<uint64_t>& scratch_bytes) {
  const size_t n_values = graph.values.size();
  const size_t n_ops = graph.ops.size();
  PUNA_CHECK(scratch_bytes.size() == n_ops);

  // Intervals of all values, then of every op's scratch.
  std::vector<Interval> intervals(n_values + n_ops);
  std::vector<size_t> scratch_owner(n_ops);
  std::iota(scratch_owner.begin(), scratch_owner.end(), size_t{0});
  for (size_t v = 0; v < n_values; ++v) {
    const uint64_t rows = graph.values[v].rows == Rows::kTokens ? n_tokens : n_outputs;
    intervals[v].bytes = aligned(rows * graph.values[v].columns * sizeof(float));
  }
  for (size_t i = 0; i < n_ops; ++i) {
    for (ValueId v : reads(graph.ops[i])) intervals[v].touch(i);
    for (ValueId v : writes(graph.ops[i])) intervals[v].touch(i);
    const auto* product = std::get_if<MatmulOp>(&graph.ops[i]);
    if (product && product->shares_x) scratch_owner[i] = scratch_owner[i - 1];
    Interval& scratch = intervals[n_values + scratch_owner[i]];
    scratch.bytes = std::max(scratch.bytes, aligned(scratch_bytes[i]));
    scratch.touch(i);
  }
  for (ValueId v : graph.takes_over) intervals[v].touch(0);
  for (ValueId v : graph.hands_over) intervals[v].touch(n_ops);
  intervals[graph.hidden].touch(n_ops);
  intervals[graph.logits].touch(n_ops);

  std::vector<size_t> order;
  for (size_t i = 0; i < intervals.size(); ++i) {
    if (intervals[i].used()) order.push_back(i);
  }
  // Largest first, in the order of the graph among equals.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return intervals[a].bytes != intervals[b].bytes ? intervals[a].bytes > intervals[b].bytes
                                                    : a < b;
  });

  ArenaPlan plan;
  std::vector<ArenaPlan::Place> places(intervals.size());
  for (size_t n = 0; n < order.size(); ++n) {
    const Interval& me = intervals[order[n]];
    std::vector<ArenaPlan::Place> busy;
    for (size_t m = 0; m < n; ++m) {
      const Interval& other = intervals[order[m]];
      if (other.first <= me.last && me.first <= other.last) busy.push_back(places[order[m]]);
    }
    places[order[n]] = {first_fit(std::move(busy), me.bytes), me.bytes};
    plan.bytes = std::max(plan.bytes, places[order[n]].offset + me.bytes);
  }
  plan.values.assign(places.begin(), places.begin() + static_cast<ptrdiff_t>(n_values));
  for (size_t i = 0; i < n_ops; ++i) plan.scratch.push_back(places[n_values + scratch_owner[i]]);
  return plan;
}

}  // namespace puna::plan
