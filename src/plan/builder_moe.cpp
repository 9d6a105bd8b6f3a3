// Builder's word for experts.
#include <fmt/format.h>

#include "plan/builder.h"

namespace puna::plan {

using base::ErrorCode;

// Rows of one expert in a weight of all; 0 when that is no whole number.
uint32_t Builder::expert_rows(std::string_view name, uint32_t n_experts) {
  const formats::Tensor* tensor = file_.find_tensor(name);
  if (!tensor || tensor->rows() % n_experts != 0 || tensor->rows() > UINT32_MAX / 2) return 0;
  return static_cast<uint32_t>(tensor->rows() / n_experts);
}

// The biases that belong to weights, in the order of the weights' rows; none where there are none.
std::optional<VectorId> Builder::expert_bias(const std::vector<std::string>& weights,
                                             uint32_t n_experts) {
  if (!has(bias_of(weights.front()))) return std::nullopt;
  VectorSpec spec;
  for (const std::string& name : weights) {
    const uint32_t rows = expert_rows(name, n_experts);
    const auto position = matrix(bias_of(name), n_experts, rows);
    if (!position) return std::nullopt;
    spec.label += (spec.tensors.empty() ? "" : "|") + bias_of(name);
    spec.tensors.push_back(*position);
    spec.n += n_experts * rows;
  }
  if (weights.size() > 1) spec.order = RowOrder::kInterleaved4;
  return vector(std::move(spec));
}

Value Builder::moe(Value x, const MoeSpec& spec) {
  const uint32_t hidden = columns(x);
  const uint32_t n_experts = spec.route.n_experts;
  if (const auto fits = kernels::check_route(spec.router, spec.route); !fits)
    fail(fits.error().code, fits.error().message);
  if (error_) return x;
  const Value logits = spec.logits ? *spec.logits : matmul({spec.router}, x);
  if (!error_ && columns(logits) != n_experts) {
    fail(ErrorCode::kCorrupt, fmt::format("Tensor \"{}\" has {} rows for {} experts.", spec.router,
                                          columns(logits), n_experts));
  }
  MoeOp op;
  const bool gated = kernels::is_gated(spec.activation);
  const std::string& first = gated ? spec.gate : spec.up;
  op.label = first.substr(0, first.rfind('.'));
  op.shape = {hidden, expert_rows(first, n_experts), spec.route, spec.activation};
  const uint32_t ffn = op.shape.ffn;
  const auto up = matrix(spec.up, n_experts * ffn, hidden);
  const auto gate = gated ? matrix(spec.gate, n_experts * ffn, hidden) : up;
  const auto down = matrix(spec.down, n_experts * hidden, ffn);
  const Value y = make(op.label, hidden, rows_of(x));
  if (error_) return y;
  const quant::Type type = file_.tensors[*gate].type;
  if (!gated && has(bias_of(spec.up))) {
    fail(ErrorCode::kUnsupported,
         fmt::format("Tensor \"{}\" is a bias of experts without a gate, which is not supported.",
                     bias_of(spec.up)));
  }
  if (type != file_.tensors[*up].type) {
    fail(ErrorCode::kUnsupported,
         fmt::format("Tensors \"{}\" ({}) and \"{}\" ({}) are of two types, which experts may not "
                     "be.",
                     spec.gate, quant::info(type).name, spec.up, file_.tensors[*up].type_name()));
  }
  if (const auto fits = kernels::check_moe(op.label, op.shape); !fits)
    fail(fits.error().code, fits.error().message);
  if (!spec.selection_bias.empty()) op.selection_bias = vector(spec.selection_bias, n_experts);
  if (gated) op.gate_up_bias = expert_bias({spec.gate, spec.up}, n_experts);
  op.down_bias = expert_bias({spec.down}, n_experts);
  if (error_) return y;
  op.logits = logits.id;
  op.x = x.id;
  op.y = y.id;
  op.gate_up = gated ? weight({fmt::format("{}|{}", spec.gate, spec.up),
                               type,
                               2 * n_experts * ffn,
                               hidden,
                               {*gate, *up},
                               RowOrder::kInterleaved4,
                               n_experts})
                     : weight({spec.up,
                               type,
                               n_experts * ffn,
                               hidden,
                               {*up},
                               RowOrder::kConcatenated,
                               n_experts});
  op.down = weight({spec.down,
                    file_.tensors[*down].type,
                    n_experts * hidden,
                    ffn,
                    {*down},
                    RowOrder::kConcatenated,
                    n_experts});
  graph_.ops.emplace_back(std::move(op));
  return y;
}

}  // namespace puna::plan
