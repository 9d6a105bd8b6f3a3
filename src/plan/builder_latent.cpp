// Builder's words for products by parts, and for attention over a compressed cache.
#include <fmt/format.h>

#include "plan/builder.h"

namespace puna::plan {

using base::ErrorCode;

// Matrices [rows, columns] of all query heads, one after the other.
std::optional<WeightSpec> Builder::heads_weight(std::string_view name, uint32_t rows,
                                                uint32_t columns) {
  const auto position = matrix(name, graph_.n_heads * rows, columns);
  if (!position) return std::nullopt;
  return WeightSpec{
      std::string(name), file_.tensors[*position].type, graph_.n_heads * rows, columns,
      {*position},       RowOrder::kConcatenated,       graph_.n_heads};
}

// A product with a matrix for each query head.
void Builder::by_heads(std::optional<WeightSpec> spec, Value x, uint32_t x_stride, Value y,
                       uint32_t y_stride) {
  if (!error_ && spec->rows / spec->n_parts % kernels::CpuMatrix::kRowGroup != 0) {
    fail(ErrorCode::kUnsupported,
         fmt::format("Tensor \"{}\" has matrices of {} rows; a multiple of {} is supported.",
                     spec->label, spec->rows / spec->n_parts, kernels::CpuMatrix::kRowGroup));
  }
  if (error_) return;
  const std::string label = spec->label;
  const WeightId id = weight(*std::move(spec));
  graph_.ops.emplace_back(HeadsOp{label, id, x.id, y.id, x_stride, y_stride});
}

Value Builder::matmul_by_parts(const std::string& name, uint32_t n_parts, Value x) {
  const uint32_t n = columns(x) / n_parts;
  const auto position = matrix(name, 0, n);
  const uint64_t rows = rows_of_tensor(name);
  if (!error_ && (columns(x) % n_parts != 0 || rows % n_parts != 0)) {
    fail(ErrorCode::kCorrupt, fmt::format("Tensor \"{}\" has {} rows for {} columns, which are no "
                                          "{} matrices of a size.",
                                          name, rows, columns(x), n_parts));
  }
  const auto n_rows = error_ ? 0 : static_cast<uint32_t>(rows);
  const Value y = make(name, n_rows, rows_of(x));
  std::optional<WeightSpec> spec;
  if (!error_) {
    spec = {name,        file_.tensors[*position].type, n_rows, n,
            {*position}, RowOrder::kConcatenated,       n_parts};
  }
  by_heads(std::move(spec), x, n, y, n_rows / n_parts);
  return y;
}

Builder::LatentWeights Builder::latent_weights(const LatentSpec& spec) {
  if (spec.key_value.empty()) {
    return {heads_weight(spec.key, spec.n_latent, spec.n_nope),
            heads_weight(spec.value, spec.v_dim, spec.n_latent)};
  }
  const auto both = heads_weight(spec.key_value, spec.n_nope + spec.v_dim, spec.n_latent);
  if (!both) return {};
  WeightSpec key = *both, value = *both;
  key.label += " (keys)";
  key.order = RowOrder::kHeadKeysTurned;
  key.rows = graph_.n_heads * spec.n_latent;
  key.columns = key.block_rows = spec.n_nope;
  // The columns of blocks are no blocks.
  if (quant::info(key.type).block_elements > 1) key.type = quant::Type::kF16;
  value.label += " (values)";
  value.order = RowOrder::kHeadValues;
  value.rows = graph_.n_heads * spec.v_dim;
  value.block_rows = spec.n_nope;
  return {std::move(key), std::move(value)};
}

Value Builder::latent_attention(Value q, Value kv, const LatentSpec& spec) {
  LatentOp op;
  op.label = fmt::format("blk.{}.latent", spec.layer);
  op.layer = spec.layer;
  op.shape = {graph_.n_heads, spec.n_nope, spec.n_latent, spec.norm_eps, spec.rope};
  const uint32_t k_dim = op.shape.k_dim();
  if (!error_ &&
      (columns(q) != uint64_t{graph_.n_heads} * op.shape.q_dim() || columns(kv) != k_dim)) {
    fail(ErrorCode::kCorrupt,
         fmt::format("The attention weights of layer {} give {} and {} values, but {} heads of {} "
                     "and {} are needed.",
                     spec.layer, columns(q), columns(kv), graph_.n_heads, op.shape.q_dim(), k_dim));
  }
  const auto gamma = vector(spec.kv_norm, spec.n_latent);
  if (!spec.freq_factors.empty()) op.freq_factors = vector(spec.freq_factors, spec.rope.n_rot / 2);
  LatentWeights weights = latent_weights(spec);
  const Value absorbed = make("q", error_ ? 0 : graph_.n_heads * k_dim, Rows::kTokens);
  const Value latent = make("latent", error_ ? 0 : graph_.n_heads * spec.n_latent, Rows::kTokens);
  const Value out = make("attention", error_ ? 0 : graph_.n_heads * spec.v_dim, Rows::kTokens);
  if (error_) return out;
  by_heads(std::move(weights.key), q, op.shape.q_dim(), absorbed, k_dim);
  if (error_) return out;
  op.q = q.id;
  op.kv = kv.id;
  op.q_out = absorbed.id;
  op.gamma = *gamma;
  if (graph_.kv.size() <= spec.layer) graph_.kv.resize(spec.layer + 1);
  graph_.kv[spec.layer] = {.n_kv_heads = 1, .head_dim = k_dim, .v_in_k = true};
  graph_.ops.emplace_back(std::move(op));
  AttentionOp attention{fmt::format("blk.{}.attention", spec.layer), spec.layer, absorbed.id,
                        latent.id, spec.scale};
  attention.v_dim = spec.n_latent;
  graph_.ops.emplace_back(std::move(attention));
  by_heads(std::move(weights.value), latent, spec.n_latent, out, spec.v_dim);
  return out;
}

}  // namespace puna::plan
