#include "plan/graph.h"

namespace puna::plan {
namespace {

struct Reads {
  std::vector<ValueId> operator()(const EmbedOp& op) const {
    return op.add ? std::vector<ValueId>{op.out} : std::vector<ValueId>{};
  }
  std::vector<ValueId> operator()(const NormOp& op) const {
    std::vector<ValueId> out = {op.x};
    if (op.residual) out.push_back(*op.residual);
    return out;
  }
  std::vector<ValueId> operator()(const MatmulOp& op) const {
    std::vector<ValueId> out = {op.x};
    if (op.x_norm) out.push_back(op.x_norm->x);
    if (op.epilogue == kernels::Epilogue::kAdd) out.push_back(op.y);
    return out;
  }
  std::vector<ValueId> operator()(const RopeOp& op) const { return {op.qkv}; }
  std::vector<ValueId> operator()(const AttentionOp& op) const {
    std::vector<ValueId> out = {op.q};
    if (op.append) out.push_back(op.append->qkv);
    return out;
  }
  std::vector<ValueId> operator()(const GatherOp& op) const { return {op.x}; }
  std::vector<ValueId> operator()(const AddOp& op) const { return {op.x, op.y}; }
  std::vector<ValueId> operator()(const ScaleOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const SoftcapOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const GluOp& op) const { return {op.gate_up}; }
  std::vector<ValueId> operator()(const HeadsOp& op) const { return {op.x}; }
  std::vector<ValueId> operator()(const LatentOp& op) const { return {op.q, op.kv, op.q_out}; }
  std::vector<ValueId> operator()(const MoeOp& op) const {
    std::vector<ValueId> out = {op.logits, op.x};
    if (op.adds) out.push_back(op.y);
    return out;
  }
  std::vector<ValueId> operator()(const NormPartsOp& op) const { return {op.x}; }
  std::vector<ValueId> operator()(const MultiplyOp& op) const { return {op.x, op.y}; }
  std::vector<ValueId> operator()(const GateOp& op) const { return {op.x, op.y}; }
  std::vector<ValueId> operator()(const ConvOp& op) const { return {op.x}; }
  std::vector<ValueId> operator()(const SsdOp& op) const { return {op.xbc, op.in}; }
  std::vector<ValueId> operator()(const DeltaOp& op) const { return {op.qkv, op.in}; }
  std::vector<ValueId> operator()(const GroupNormOp& op) const {
    std::vector<ValueId> out = {op.x};
    if (op.gate) out.push_back(*op.gate);
    return out;
  }
};

struct Writes {
  std::vector<ValueId> operator()(const EmbedOp& op) const { return {op.out}; }
  std::vector<ValueId> operator()(const NormOp& op) const {
    std::vector<ValueId> out;
    if (op.residual) out.push_back(*op.residual);
    if (op.y) out.push_back(*op.y);
    return out;
  }
  std::vector<ValueId> operator()(const MatmulOp& op) const {
    return op.y_norm ? std::vector<ValueId>{op.y, *op.y_norm->y} : std::vector<ValueId>{op.y};
  }
  std::vector<ValueId> operator()(const RopeOp& op) const { return {op.q}; }
  std::vector<ValueId> operator()(const AttentionOp& op) const { return {op.out}; }
  std::vector<ValueId> operator()(const GatherOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const AddOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const ScaleOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const SoftcapOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const GluOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const MoeOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const NormPartsOp& op) const { return {op.y.value_or(op.x)}; }
  std::vector<ValueId> operator()(const MultiplyOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const GateOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const ConvOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const SsdOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const DeltaOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const GroupNormOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const HeadsOp& op) const { return {op.y}; }
  std::vector<ValueId> operator()(const LatentOp& op) const { return {op.q_out}; }
};

}  // namespace

std::string label(const Op& op) {
  return std::visit(
      [](const auto& o) -> std::string {
        if constexpr (requires { o.label; }) {
          return o.label;
        } else if constexpr (std::is_same_v<std::decay_t<decltype(o)>, EmbedOp>) {
          return "embed";
        } else {
          return "outputs";
        }
      },
      op);
}

uint32_t x_planes(const Graph& graph, const MatmulOp& op) {
  return graph.values[op.y].rows == Rows::kOutputs ? 2 : 1;
}

std::vector<ValueId> reads(const Op& op) { return std::visit(Reads{}, op); }
std::vector<ValueId> writes(const Op& op) { return std::visit(Writes{}, op); }

std::vector<WeightId> weights(const Op& op) {
  return std::visit(
      [](const auto& o) -> std::vector<WeightId> {
        if constexpr (requires { o.gate_up + o.down; }) {
          return {o.gate_up, o.down};
        } else if constexpr (requires { o.weight; }) {
          return {o.weight};
        } else {
          return {};
        }
      },
      op);
}

}  // namespace puna::plan
