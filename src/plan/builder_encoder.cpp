// The words of encoders: rows that the host gives, attend to each other and are merged in the end.
#include <fmt/format.h>

#include "plan/builder.h"

namespace puna::plan {

using base::ErrorCode;

Value Builder::input(std::string_view label, uint32_t n) {
  const Value x = make(label, n, Rows::kTokens);
  graph_.takes_over.push_back(x.id);
  return x;
}

Value Builder::own_attention(Value qkv, const OwnAttentionSpec& spec) {
  const uint64_t width = uint64_t{graph_.n_heads} * spec.head_dim;
  if (!error_ && (columns(qkv) != 3 * width || spec.head_dim == 0 || spec.head_dim % 4 != 0)) {
    fail(ErrorCode::kUnsupported,
         fmt::format("{} gives queries, keys and values of {} values together for {} heads of {}; "
                     "three times as many as the heads have are needed, in heads of a multiple of "
                     "4.",
                     spec.label, columns(qkv), graph_.n_heads, spec.head_dim));
  }
  const Value out = make(spec.label, static_cast<uint32_t>(width), Rows::kTokens);
  if (error_) return out;
  OwnAttentionOp op{spec.label, qkv.id, out.id, {}, spec.head_dim, spec.scale};
  if (spec.spans) op.spans = spec.spans->id;
  graph_.ops.emplace_back(std::move(op));
  return out;
}

Value Builder::local_attention(Value q, Value k, Value v, Value before,
                               const LocalAttentionSpec& spec) {
  const uint64_t width = uint64_t{graph_.n_heads} * spec.head_dim;
  for (const Value part : {q, k, v}) {
    if (error_ || (columns(part) == width && width > 0)) continue;
    fail(ErrorCode::kCorrupt,
         fmt::format("{} reads rows of {} values for {} heads of {}.", spec.label, columns(part),
                     graph_.n_heads, spec.head_dim));
  }
  const auto gamma = elements(spec.gamma, spec.head_dim);
  const formats::Tensor* const keys_tensor = file_.find_tensor(spec.far);
  const uint32_t key_columns = keys_tensor ? static_cast<uint32_t>(keys_tensor->columns()) : 0;
  const auto far = matrix(spec.far, static_cast<uint32_t>(width), key_columns);
  const Value y = make(spec.label, static_cast<uint32_t>(width), rows_of(q));
  if (error_) return y;
  LocalAttentionOp op{spec.label, q.id, k.id, v.id, before.id, y.id, *gamma, 0, {}};
  VectorSpec keys{spec.far, {*far}, spec.window * static_cast<uint32_t>(width)};
  keys.keys = kernels::RelativeKeys{.window = spec.window};
  op.far = vector(std::move(keys));
  op.shape = {graph_.n_heads, spec.head_dim,  spec.window, columns(before),
              spec.scale,     spec.key_scale, spec.cap};
  graph_.ops.emplace_back(std::move(op));
  return y;
}

Value Builder::own_conv(Value x, Value before, std::string_view weight) {
  const uint32_t n = columns(x);
  const formats::Tensor* const tensor = file_.find_tensor(weight);
  const uint64_t n_taps = tensor ? tensor->columns() : 1;
  const auto weights = elements(weight, n * n_taps);
  const Value y = make(weight, n, rows_of(x));
  if (!error_) {
    graph_.ops.emplace_back(OwnConvOp{std::string(weight),
                                      x.id,
                                      before.id,
                                      y.id,
                                      *weights,
                                      {n, static_cast<uint32_t>(n_taps), columns(before)}});
  }
  return y;
}

Value Builder::clamp(Value x, std::string_view low, std::string_view high, bool apart) {
  const auto from = bounds({std::string(low)}, 1), to = bounds({std::string(high)}, 1);
  const Value y = apart ? make(low, columns(x), rows_of(x)) : x;
  if (error_) return y;
  ClampOp op{std::string(low), y.id, *from, *to};
  if (apart) op.x = x.id;
  graph_.ops.emplace_back(std::move(op));
  return y;
}

std::optional<VectorId> Builder::bounds(const std::vector<std::string>& names, uint32_t n) {
  VectorSpec spec;
  spec.bounds = true;
  for (const std::string& name : names) {
    const auto position = matrix(name, 1, 1);
    if (!position) return std::nullopt;
    spec.label += (spec.label.empty() ? "" : "+") + name;
    spec.tensors.insert(spec.tensors.end(), n, *position);
  }
  spec.n = static_cast<uint32_t>(spec.tensors.size());
  return vector(std::move(spec));
}

Value Builder::clamp_parts(Value x, uint32_t n, const std::vector<std::string>& low,
                           const std::vector<std::string>& high) {
  if (!error_ && (n * low.size() != columns(x) || n * high.size() != columns(x))) {
    fail(ErrorCode::kCorrupt,
         fmt::format("\"{}\" bounds one of {} parts of {} columns, but rows have {} together.",
                     low.front(), low.size(), n, columns(x)));
  }
  if (error_) return x;
  const auto from = bounds(low, n), to = bounds(high, n);
  if (error_) return x;
  graph_.ops.emplace_back(ByVectorOp{low.front(), *from, x.id, kernels::Binary::kMost});
  graph_.ops.emplace_back(ByVectorOp{high.front(), *to, x.id, kernels::Binary::kLeast});
  return x;
}

Value Builder::turn(Value x, Value positions, kernels::MropeShape shape, std::string_view label) {
  shape.y_stride = columns(x);
  const auto pairs = kernels::section_pairs(shape);
  if (!pairs) fail(pairs.error().code, pairs.error().message);
  if (!error_ && uint64_t{shape.n_heads} * shape.head_dim > columns(x)) {
    fail(ErrorCode::kCorrupt, fmt::format("{} turns {} heads of {} in rows of {} values.", label,
                                          shape.n_heads, shape.head_dim, columns(x)));
  }
  if (!error_) graph_.ops.emplace_back(TurnOp{std::string(label), x.id, positions.id, shape});
  return x;
}

Value Builder::copy(Value x) {
  const Value y = make(graph_.values[x.id].label, columns(x), rows_of(x));
  if (!error_) graph_.ops.emplace_back(MergeOp{graph_.values[x.id].label, x.id, y.id});
  return y;
}

Value Builder::merge(Value x, uint32_t n, bool by_column) {
  if (rows_of(x) == Rows::kOutputs) {
    fail(ErrorCode::kInternal, "Rows that are merged already are merged again.");
    return x;
  }
  const Value y = make("merged", columns(x) * n, Rows::kOutputs);
  if (error_) return y;
  if (graph_.head_begin == 0) {
    graph_.hidden = x.id;
    graph_.head_begin = graph_.ops.size();
  }
  graph_.ops.emplace_back(MergeOp{graph_.values[x.id].label, x.id, y.id, n, by_column});
  return y;
}

Value Builder::pool(Value x, uint32_t n) {
  const Value cells = merge(x, n, /*by_column=*/true);
  const Value y = make("pooled", columns(x), Rows::kOutputs);
  if (!error_) graph_.ops.emplace_back(ReduceOp{"pooled", cells.id, y.id, n});
  return y;
}

Value Builder::by_vector(Value y, kernels::Binary op, std::string_view v) {
  const auto id = elements(v, columns(y));
  if (!error_) graph_.ops.emplace_back(ByVectorOp{std::string(v), *id, y.id, op});
  return y;
}

Value Builder::beside(const std::vector<Product>& wanted,
                      std::optional<kernels::Activation> activation) {
  std::vector<MatmulOp> products;
  uint32_t total = 0;
  for (const Product& p : wanted) {
    const Value own = activation ? activated(p.weight, p.x, *activation) : matmul({p.weight}, p.x);
    if (error_) return own;
    products.push_back(std::get<MatmulOp>(std::move(graph_.ops.back())));
    products.back().y_column = total;
    total += columns(own);
    graph_.ops.pop_back();
    graph_.values.pop_back();
  }
  const Value y = make(wanted.front().weight, total, rows_of(wanted.front().x));
  for (MatmulOp& product : products) {
    product.y = y.id;
    graph_.ops.emplace_back(std::move(product));
  }
  return y;
}

}  // namespace puna::plan
