#include "plan/builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace puna::plan {

using base::ErrorCode;

std::string bias_of(std::string_view weight) {
  return fmt::format("{}.bias", weight.substr(0, weight.rfind('.')));
}

void Builder::fail(ErrorCode code, std::string message) {
  if (!error_) error_ = base::Error{code, std::move(message), {}};
}

Value Builder::make(std::string_view label, uint32_t columns, Rows rows) {
  graph_.values.push_back({std::string(label), columns, rows});
  return {static_cast<ValueId>(graph_.values.size() - 1)};
}

std::optional<uint32_t> Builder::matrix(std::string_view name, uint32_t rows, uint32_t columns) {
  const formats::Tensor* tensor = file_.find_tensor(name);
  if (!tensor) {
    fail(ErrorCode::kNotFound, fmt::format("Tensor \"{}\" is missing.", name));
    return std::nullopt;
  }
  if (!tensor->usable()) {
    const base::Error error = tensor->unusable();
    fail(error.code, error.message);
    return std::nullopt;
  }
  if (tensor->type == quant::Type::kNVFP4) check_tensor_scale(name);
  if (tensor->columns() != columns || (rows != 0 && tensor->rows() != rows) ||
      tensor->rows() > UINT32_MAX / 2) {
    fail(ErrorCode::kCorrupt,
         fmt::format("Tensor \"{}\" has shape [{}], but [{}, {}] is expected.", name,
                     fmt::join(tensor->shape, ", "),
                     rows == 0 ? std::string("any") : std::to_string(rows), columns));
    return std::nullopt;
  }
  return static_cast<uint32_t>(tensor - file_.tensors.data());
}

// A file of nvfp4 may hold a factor for a whole matrix beside it, "blk.0.attn_q.scale": passing
// over it would give wrong numbers.
void Builder::check_tensor_scale(std::string_view name) {
  const std::string scale = fmt::format("{}.scale", name.substr(0, name.rfind('.')));
  if (!has(scale)) return;
  fail(ErrorCode::kUnsupported,
       fmt::format("Tensor \"{}\" is nvfp4 with a factor in \"{}\", which is not supported.", name,
                   scale));
}

std::optional<VectorId> Builder::vector(std::string_view name, uint32_t n) {
  const std::optional<uint32_t> tensor = matrix(name, 1, n);
  if (!tensor) return std::nullopt;
  return vector(VectorSpec{std::string(name), {*tensor}, n});
}

// Several tensors of any shape, one after the other, n elements together.
std::optional<VectorId> Builder::vectors(const std::vector<std::string>& names, uint32_t n) {
  VectorSpec spec;
  for (const std::string& name : names) {
    const formats::Tensor* tensor = file_.find_tensor(name);
    const auto columns =
        tensor ? static_cast<uint32_t>(std::min<uint64_t>(tensor->columns(), n)) : n;
    const std::optional<uint32_t> position = matrix(name, 0, columns);
    if (!position) return std::nullopt;
    spec.label += (spec.label.empty() ? "" : "+") + name;
    spec.tensors.push_back(*position);
    spec.n += static_cast<uint32_t>(
        std::min<uint64_t>(tensor->rows() * tensor->columns(), UINT32_MAX - spec.n));
  }
  if (spec.n != n) {
    fail(ErrorCode::kCorrupt,
         fmt::format("\"{}\" has {} elements, but {} are expected.", spec.label, spec.n, n));
    return std::nullopt;
  }
  return vector(std::move(spec));
}

VectorId Builder::vector(VectorSpec spec) {
  for (VectorId i = 0; i < graph_.vectors.size(); ++i) {
    const VectorSpec& other = graph_.vectors[i];
    if (other.tensors == spec.tensors && other.order == spec.order &&
        other.buckets == spec.buckets && other.keys == spec.keys && other.bounds == spec.bounds)
      return i;
  }
  graph_.vectors.push_back(std::move(spec));
  return static_cast<VectorId>(graph_.vectors.size() - 1);
}

// A weight used twice (a tied LM head) is one weight.
WeightId Builder::weight(WeightSpec spec) {
  for (WeightId i = 0; i < graph_.weights.size(); ++i) {
    if (graph_.weights[i].tensors == spec.tensors && graph_.weights[i].order == spec.order)
      return i;
  }
  graph_.weights.push_back(std::move(spec));
  return static_cast<WeightId>(graph_.weights.size() - 1);
}

// Appends the lookup; its result is `out`, or a new value.
Value Builder::look_up(std::string_view table, float scale, kernels::EmbedRow row,
                       std::optional<Value> out) {
  const formats::Tensor* tensor = file_.find_tensor(table);
  const uint32_t n =
      tensor ? static_cast<uint32_t>(std::min<uint64_t>(tensor->columns(), UINT32_MAX)) : 0;
  const std::optional<uint32_t> position = matrix(table, 0, out ? columns(*out) : n);
  const Value x = out ? *out : make(table, n, Rows::kTokens);
  if (error_) return x;
  const auto rows = static_cast<uint32_t>(tensor->rows());
  const WeightId id =
      weight({std::string(table), tensor->type, rows, n, {*position}, RowOrder::kConcatenated});
  graph_.ops.emplace_back(EmbedOp{id, x.id, scale, row, out.has_value()});
  return x;
}

Value Builder::embed(std::string_view table, float scale) {
  const Value x = look_up(table, scale, kernels::EmbedRow::kToken, {});
  if (error_) return x;
  const auto rows = static_cast<uint32_t>(file_.find_tensor(table)->rows());
  // Tables beside the token embeddings have as many rows.
  if (graph_.vocab != 0 && rows != graph_.vocab) {
    fail(ErrorCode::kCorrupt, fmt::format("Tensor \"{}\" has {} rows for a vocabulary of {}.",
                                          table, rows, graph_.vocab));
  }
  graph_.vocab = rows;
  return x;
}

Value Builder::add_positions(Value x, std::string_view table) {
  return look_up(table, 1.0f, kernels::EmbedRow::kPosition, x);
}

Value Builder::add_first_row(Value x, std::string_view table) {
  return look_up(table, 1.0f, kernels::EmbedRow::kFirst, x);
}

Value Builder::add_media(Value x, uint32_t layer, uint32_t part) {
  if (!error_)
    graph_.ops.emplace_back(AddMediaOp{fmt::format("blk.{}.add_media", layer), x.id, part});
  return x;
}

Value Builder::rms_norm(Value x, std::string_view gamma, float eps) {
  const uint32_t n = columns(x);
  const auto id = vector(gamma, n);
  const Value y = make(gamma, n, rows_of(x));
  if (!error_) graph_.ops.emplace_back(NormOp{std::string(gamma), x.id, {}, {}, id, y.id, eps});
  return y;
}

Value Builder::norm_parts(Value x, const PartsSpec& spec) {
  kernels::NormPartsShape shape = spec.shape;
  if (shape.x_stride == 0) shape.x_stride = columns(x);
  if (shape.n == 0) shape.n = (shape.x_stride - shape.x_column) / shape.n_parts;
  const uint32_t n_weights = shape.n * (shape.weights_by_part ? shape.n_parts : 1);
  NormPartsOp op{
      spec.gamma.empty() ? graph_.values[x.id].label : spec.gamma.front(), x.id, {}, {}, {}, shape};
  if (!spec.gamma.empty()) op.gamma = vectors(spec.gamma, n_weights);
  if (!spec.beta.empty()) op.beta = vectors({spec.beta}, n_weights);
  if (spec.apart) op.y = make(op.label, shape.n * shape.n_parts, rows_of(x)).id;
  const Value y = {op.y.value_or(x.id)};
  if (!error_) graph_.ops.emplace_back(std::move(op));
  return y;
}

Value Builder::layer_norm(Value x, std::string_view gamma, float eps, bool apart) {
  PartsSpec spec;
  spec.shape.kind = kernels::NormKind::kLayer;
  spec.shape.eps = eps;
  spec.apart = apart;
  if (gamma.empty()) return norm_parts(x, spec);
  spec.gamma = {std::string(gamma)};
  if (has(bias_of(gamma))) spec.beta = bias_of(gamma);
  return norm_parts(x, spec);
}

Value Builder::matmul(const std::vector<std::string>& names, Value x) {
  const uint32_t n = columns(x);
  struct Run {
    WeightSpec spec;
    uint32_t column;
    VectorSpec bias;  // of no tensors when there is none
  };
  std::vector<Run> runs;  // neighbours of one type, all with a bias or none, become one weight
  uint32_t total = 0;
  for (const std::string& name : names) {
    const auto position = matrix(name, 0, n);
    if (!position) break;
    const formats::Tensor& tensor = file_.tensors[*position];
    const uint32_t rows = static_cast<uint32_t>(tensor.rows());
    const bool biased = has(bias_of(name));
    if (!runs.empty() && runs.back().spec.type == tensor.type && runs.back().spec.rows % 4 == 0 &&
        biased != runs.back().bias.tensors.empty()) {
      runs.back().spec.rows += rows;
      runs.back().spec.tensors.push_back(*position);
      runs.back().spec.label += "+" + name;
    } else {
      runs.push_back(
          {{name, tensor.type, rows, n, {*position}, RowOrder::kConcatenated}, total, {}});
    }
    if (biased) {
      const auto bias = matrix(bias_of(name), 1, rows);
      if (!bias) break;
      VectorSpec& spec = runs.back().bias;
      spec.label += (spec.tensors.empty() ? "" : "+") + bias_of(name);
      spec.tensors.push_back(*bias);
      spec.n += rows;
    }
    total += rows;
  }
  const Value y = make(names.front(), total, rows_of(x));
  if (error_) return y;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::string label = runs[i].spec.label;
    MatmulOp op{std::move(label), weight(std::move(runs[i].spec)), x.id, y.id, runs[i].column};
    if (!runs[i].bias.tensors.empty()) op.bias = vector(std::move(runs[i].bias));
    op.shares_x = i > 0;
    graph_.ops.emplace_back(std::move(op));
  }
  return y;
}

Builder::Parted Builder::matmul_parted(const std::string& name, uint32_t n, Value x) {
  const auto position = matrix(name, 0, columns(x));
  const uint64_t rows = rows_of_tensor(name);
  if (!error_ && (n == 0 || n >= rows)) {
    fail(ErrorCode::kCorrupt,
         fmt::format("Tensor \"{}\" has {} rows, but more than {} are expected.", name, rows, n));
  }
  if (!error_ && has(bias_of(name))) {
    fail(ErrorCode::kUnsupported,
         fmt::format("Tensor \"{}\" is there; a bias of it is not supported.", bias_of(name)));
  }
  const uint32_t n_rest = error_ ? 0 : static_cast<uint32_t>(rows) - n;
  const Parted y = {make(name, n, rows_of(x)), make(name, n_rest, rows_of(x))};
  if (error_) return y;
  const quant::Type type = file_.tensors[*position].type;
  const WeightSpec parts[] = {
      {name, type, n, columns(x), {*position}, RowOrder::kConcatenated},
      {name + " (rest)", type, n_rest, columns(x), {*position}, RowOrder::kRowsFrom, 1, n}};
  for (size_t i = 0; i < 2; ++i) {
    MatmulOp op{parts[i].label, weight(parts[i]), x.id, i == 0 ? y.first.id : y.rest.id, 0};
    op.shares_x = i > 0;
    graph_.ops.emplace_back(std::move(op));
  }
  return y;
}

Value Builder::activated(const std::string& name, Value x, kernels::Activation activation) {
  const Value y = matmul({name}, x);
  if (error_) return y;
  auto& product = std::get<MatmulOp>(graph_.ops.back());
  product.epilogue = kernels::Epilogue::kActivate;
  product.activation = activation;
  return y;
}

Value Builder::gated(std::string_view gate, std::string_view up, Value x,
                     kernels::Activation activation) {
  const uint32_t n = columns(x);
  const auto gate_position = matrix(gate, 0, n);
  const uint32_t ffn =
      gate_position ? static_cast<uint32_t>(file_.tensors[*gate_position].rows()) : 0;
  const auto up_position = matrix(up, ffn, n);
  const Value y = make(gate, ffn, rows_of(x));
  if (error_) return y;
  const quant::Type type = file_.tensors[*gate_position].type;
  if (gates_in_epilogue(gate, ffn, activation) && gates_in_epilogue(up, ffn, activation) &&
      type == file_.tensors[*up_position].type) {
    gated_product({fmt::format("{}|{}", gate, up),
                   type,
                   2 * ffn,
                   n,
                   {*gate_position, *up_position},
                   RowOrder::kInterleaved4},
                  x, y, activation);
    return y;
  }
  const Value both = matmul({std::string(gate), std::string(up)}, x);
  graph_.ops.emplace_back(GluOp{std::string(gate), both.id, y.id, activation});
  return y;
}

Value Builder::glu(Value gate_up, kernels::Activation activation) {
  const std::string label = graph_.values[gate_up.id].label;
  const Value y = make(label, columns(gate_up) / 2, rows_of(gate_up));
  if (!error_) graph_.ops.emplace_back(GluOp{label, gate_up.id, y.id, activation});
  return y;
}

Value Builder::gated_halves(const std::string& gate_up, Value x, kernels::Activation activation) {
  const uint32_t n = columns(x);
  const auto position = matrix(gate_up, 0, n);
  const uint32_t rows = position ? static_cast<uint32_t>(file_.tensors[*position].rows()) : 0;
  if (!error_ && rows % 2 != 0) {
    fail(ErrorCode::kCorrupt,
         fmt::format("Tensor \"{}\" has {} rows, but gate and up need as many each.", gate_up,
                     rows));
  }
  const Value y = make(gate_up, rows / 2, rows_of(x));
  if (error_) return y;
  if (gates_in_epilogue(gate_up, rows / 2, activation)) {
    gated_product({gate_up,
                   file_.tensors[*position].type,
                   rows,
                   n,
                   {*position},
                   RowOrder::kHalvesInterleaved4},
                  x, y, activation);
    return y;
  }
  const Value both = matmul({gate_up}, x);
  graph_.ops.emplace_back(GluOp{gate_up, both.id, y.id, activation});
  return y;
}

// Whether a product may end in the gate: whole groups of rows, no bias, an activation it has.
bool Builder::gates_in_epilogue(std::string_view weight, uint32_t ffn,
                                kernels::Activation activation) {
  return ffn % 4 == 0 && !has(bias_of(weight)) &&
         (activation == kernels::Activation::kSilu || activation == kernels::Activation::kGeluTanh);
}

void Builder::gated_product(WeightSpec spec, Value x, Value y, kernels::Activation activation) {
  const auto epilogue = activation == kernels::Activation::kSilu ? kernels::Epilogue::kSwiGlu
                                                                 : kernels::Epilogue::kGeGlu;
  std::string label = spec.label;
  graph_.ops.emplace_back(
      MatmulOp{std::move(label), weight(std::move(spec)), x.id, y.id, 0, epilogue});
}

// Their index is computed in f32, where all integers up to this one are.
constexpr uint64_t kMostBiases = 1 << 24;

std::optional<VectorId> Builder::biases_by_distance(const AttentionSpec& spec) {
  const kernels::RelativeBuckets& buckets = spec.buckets;
  const std::optional<uint32_t> table = matrix(spec.biases, buckets.n, graph_.n_heads);
  if (!table) return std::nullopt;
  const uint64_t n = graph_.n_heads * (2 * uint64_t{buckets.reach} + 1);
  if (n > kMostBiases) {
    fail(ErrorCode::kUnsupported,
         fmt::format("\"{}\" of {} heads, for distances up to {}, makes {} biases; at most {} are "
                     "supported.",
                     spec.biases, graph_.n_heads, buckets.reach, n, kMostBiases));
    return std::nullopt;
  }
  return vector(VectorSpec{
      spec.biases, {*table}, static_cast<uint32_t>(n), RowOrder::kConcatenated, buckets});
}

Value Builder::attention(Value qkv, const AttentionSpec& spec) {
  const uint64_t kv_heads = spec.keys_of ? 0 : 2 * uint64_t{spec.n_kv_heads};
  const uint64_t wanted = (uint64_t{graph_.n_heads} + kv_heads) * spec.head_dim;
  if (!error_ && columns(qkv) != wanted) {
    fail(ErrorCode::kCorrupt, fmt::format("The attention weights of layer {} give {} values, but "
                                          "{} heads and {} KV heads of {} need {}.",
                                          spec.layer, columns(qkv), graph_.n_heads, spec.n_kv_heads,
                                          spec.head_dim, wanted));
  }
  if (!error_ &&
      (spec.n_kv_heads == 0 || graph_.n_heads % spec.n_kv_heads != 0 || spec.head_dim % 4 != 0)) {
    fail(ErrorCode::kUnsupported,
         fmt::format("Layer {} has {} heads over {} KV heads of {} elements; heads must be a "
                     "multiple of KV heads and "
                     "elements a multiple of 4.",
                     spec.layer, graph_.n_heads, spec.n_kv_heads, spec.head_dim));
  }
  if (!error_ && spec.keys_of &&
      (*spec.keys_of >= graph_.kv.size() || graph_.kv[*spec.keys_of].head_dim != spec.head_dim ||
       graph_.kv[*spec.keys_of].n_kv_heads != spec.n_kv_heads)) {
    fail(ErrorCode::kCorrupt,
         fmt::format("Layer {} reads the keys of layer {}, which has none of "
                     "{} heads of {} elements.",
                     spec.layer, *spec.keys_of, spec.n_kv_heads, spec.head_dim));
  }
  std::optional<VectorId> q_norm, k_norm, factors, sinks, biases;
  if (!spec.q_norm.empty()) q_norm = vector(spec.q_norm, spec.head_dim);
  if (!spec.k_norm.empty()) k_norm = vector(spec.k_norm, spec.head_dim);
  if (!spec.freq_factors.empty()) factors = vector(spec.freq_factors, spec.rope.n_rot / 2);
  if (!spec.sinks.empty()) sinks = vector(spec.sinks, graph_.n_heads);
  if (!spec.biases.empty()) biases = biases_by_distance(spec);
  const uint32_t width = error_ ? 0 : graph_.n_heads * spec.head_dim;
  const Value q = make("q", width, Rows::kTokens);
  const Value out = make("attention", width, Rows::kTokens);
  if (error_) return out;
  const uint32_t layer = spec.keys_of.value_or(spec.layer);
  if (graph_.kv.size() <= layer) graph_.kv.resize(layer + 1);
  // Where layers of both kinds read the keys, all of them are needed.
  const bool all = spec.keys_of && (spec.window == 0 || graph_.kv[layer].window == 0);
  const uint32_t window =
      spec.keys_of ? std::max(spec.window, graph_.kv[layer].window) : spec.window;
  graph_.kv[layer] = {spec.n_kv_heads, spec.head_dim, false, all ? 0 : window};
  graph_.ops.emplace_back(RopeOp{fmt::format("blk.{}.rope", spec.layer), layer, qkv.id, q.id,
                                 q_norm, k_norm, factors, spec.norm_eps, spec.rope, spec.v_norm,
                                 /*appends=*/!spec.keys_of});
  graph_.ops.emplace_back(AttentionOp{
      fmt::format("blk.{}.attention", spec.layer), layer, q.id, out.id, spec.scale, spec.softcap,
      spec.window, spec.chunks, spec.causal, spec.around, sinks, /*v_dim=*/0, /*append=*/{},
      spec.max_alibi_bias, biases, biases ? spec.buckets.reach : 0});
  return out;
}

Value Builder::add(Value a, Value b) {
  if (!error_ && columns(a) != columns(b)) {
    fail(ErrorCode::kCorrupt,
         fmt::format("A sum of {} and {} columns is asked for.", columns(a), columns(b)));
  }
  if (!error_) graph_.ops.emplace_back(AddOp{graph_.values[b.id].label, b.id, a.id});
  return a;
}

Value Builder::scale(Value x, float factor) {
  if (!error_ && factor != 1.0f)
    graph_.ops.emplace_back(ScaleOp{graph_.values[x.id].label, x.id, factor});
  return x;
}

Value Builder::scale(Value x, std::string_view weight) {
  const auto by = vector(weight, 1);
  if (!error_) graph_.ops.emplace_back(ScaleOp{std::string(weight), x.id, 1.0f, by});
  return x;
}

Value Builder::multiply(Value y, Value x, uint32_t part) {
  const uint32_t n = columns(y);
  if (!error_ && (n == 0 || columns(x) % n != 0 || part >= columns(x) / n)) {
    fail(ErrorCode::kCorrupt,
         fmt::format("Part {} of {} columns is asked for, {} wide.", part, columns(x), n));
  }
  if (!error_) {
    graph_.ops.emplace_back(
        MultiplyOp{graph_.values[y.id].label, x.id, y.id, part, columns(x) / n});
  }
  return y;
}

Value Builder::gate(Value y, Value x) {
  if (!error_ && columns(x) != columns(y) && columns(x) != 1) {
    fail(ErrorCode::kCorrupt,
         fmt::format("A gate of {} columns for {} is asked for.", columns(x), columns(y)));
  }
  if (!error_) graph_.ops.emplace_back(GateOp{graph_.values[x.id].label, x.id, y.id});
  return y;
}

Value Builder::softcap(Value x, float cap) {
  if (!error_ && cap > 0.0f)
    graph_.ops.emplace_back(SoftcapOp{graph_.values[x.id].label, x.id, cap});
  return x;
}

Value Builder::unary(Value y, kernels::Unary function, std::array<float, 4> with) {
  if (!error_) graph_.ops.emplace_back(UnaryOp{graph_.values[y.id].label, y.id, function, with});
  return y;
}

Value Builder::row_max(Value x) {
  const std::string label = graph_.values[x.id].label;
  const Value y = make(label, 1, rows_of(x));
  if (!error_)
    graph_.ops.emplace_back(ReduceOp{label, x.id, y.id, columns(x), kernels::Reduction::kMax});
  return y;
}

Value Builder::select_outputs(Value x) {
  const Value y = make("outputs", columns(x), Rows::kOutputs);
  graph_.hidden = x.id;
  graph_.head_begin = graph_.ops.size();
  if (!error_) graph_.ops.emplace_back(GatherOp{x.id, y.id});
  return y;
}

base::Result<Graph> Builder::finish(Value logits) {
  if (!error_ && columns(logits) != graph_.vocab) {
    fail(ErrorCode::kCorrupt,
         fmt::format("The output layer gives {} logits for a vocabulary of {}.", columns(logits),
                     graph_.vocab));
  }
  if (error_) return std::unexpected(*std::move(error_));
  graph_.logits = logits.id;
  return std::move(graph_);
}

base::Result<Graph> Builder::finish_embeddings(Value x) {
  if (error_) return std::unexpected(*std::move(error_));
  graph_.logits = x.id;
  graph_.embeds = true;
  return std::move(graph_);
}

}  // namespace puna::plan
