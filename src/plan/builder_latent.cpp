// Builder's word for attention over a compressed cache.
#include <fmt/format.h>

#include "plan/builder.h"

namespace puna::plan {

using base::ErrorCode;

// A product with a matrix [rows, columns] for each query head.
void Builder::by_heads(std::string_view name, uint32_t rows, uint32_t columns, Value x,
                       uint32_t x_stride, Value y, uint32_t y_stride) {
  const uint32_t n_heads = graph_.n_heads;
  const auto position = matrix(name, n_heads * rows, columns);
  if (!error_ && rows % kernels::CpuMatrix::kRowGroup != 0) {
    fail(ErrorCode::kUnsupported,
         fmt::format("Tensor \"{}\" has matrices of {} rows; a multiple of {} is supported.", name,
                     rows, kernels::CpuMatrix::kRowGroup));
  }
  if (error_) return;
  const WeightId id = weight({std::string(name),
                              file_.tensors[*position].type,
                              n_heads * rows,
                              columns,
                              {*position},
                              RowOrder::kConcatenated,
                              n_heads});
  graph_.ops.emplace_back(HeadsOp{std::string(name), id, x.id, y.id, x_stride, y_stride});
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
  const Value absorbed = make("q", error_ ? 0 : graph_.n_heads * k_dim, Rows::kTokens);
  const Value latent = make("latent", error_ ? 0 : graph_.n_heads * spec.n_latent, Rows::kTokens);
  const Value out = make("attention", error_ ? 0 : graph_.n_heads * spec.v_dim, Rows::kTokens);
  if (error_) return out;
  by_heads(spec.key, spec.n_latent, spec.n_nope, q, op.shape.q_dim(), absorbed, k_dim);
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
  by_heads(spec.value, spec.v_dim, spec.n_latent, latent, spec.n_latent, out, spec.v_dim);
  return out;
}

}  // namespace puna::plan
