#include "plan/host_experts.h"

#include <utility>

#include "base/check.h"
#include "plan/split.h"

namespace puna::plan {
namespace {

bool is_before(const Op& op, uint32_t end) {
  const auto layer = layer_of(op);
  return std::holds_alternative<MoeOp>(op) && layer && *layer < end;
}

}  // namespace

std::vector<uint32_t> expert_layers(const Graph& graph) {
  std::vector<uint32_t> out;
  for (const Op& op : graph.ops) {
    const auto layer = layer_of(op);
    if (!std::holds_alternative<MoeOp>(op) || !layer) continue;
    if (out.empty() || out.back() != *layer) out.push_back(*layer);
  }
  return out;
}

HostExperts host_experts(Graph graph, uint32_t end) {
  HostExperts out{graph, std::move(graph)};
  out.host.ops.clear();
  for (Op& op : out.device.ops) {
    if (!is_before(op, end)) continue;
    const std::vector<ValueId> written = writes(op);
    PUNA_CHECK(written.size() == 1);  // nothing is added to before it is fused
    HostOp there{label(op), static_cast<uint32_t>(out.host.ops.size()), reads(op), written.front()};
    out.host.ops.push_back(std::exchange(op, std::move(there)));
  }
  if (out.host.ops.empty()) return out;
  // One batch after the other, whether its rows are tokens of a body or outputs of a head.
  for (ValueInfo& value : out.host.values) value.rows = Rows::kTokens;
  out.host.head_begin = out.host.ops.size();
  out.host.hidden = out.host.logits = writes(out.host.ops.back()).front();
  out.host.hands_over.clear();
  out.host.takes_over.clear();
  drop_unused(out.host);
  drop_unused(out.device);
  return out;
}

}  // namespace puna::plan
