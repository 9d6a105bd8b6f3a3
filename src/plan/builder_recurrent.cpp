// The builder's words for layers with recurrent state.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/builder.h"

namespace puna::plan {

using base::ErrorCode;

std::optional<VectorId> Builder::elements(std::string_view name, uint64_t n) {
  const formats::Tensor* tensor = file_.find_tensor(name);
  const uint64_t columns = tensor ? std::min<uint64_t>(tensor->columns(), UINT32_MAX) : 1;
  const std::optional<uint32_t> position = matrix(name, 0, static_cast<uint32_t>(columns));
  if (!position) return std::nullopt;
  if (tensor->rows() * tensor->columns() != n || n > UINT32_MAX) {
    fail(ErrorCode::kCorrupt, fmt::format("Tensor \"{}\" has shape [{}], but {} elements are "
                                          "expected.",
                                          name, fmt::join(tensor->shape, ", "), n));
    return std::nullopt;
  }
  return vector(VectorSpec{std::string(name), {*position}, static_cast<uint32_t>(n)});
}

StateId Builder::state(uint32_t layer, std::string_view what, uint64_t n) {
  graph_.states.push_back({fmt::format("blk.{}.{}", layer, what), n});
  return static_cast<StateId>(graph_.states.size() - 1);
}

Builder::GatedQkv Builder::gated_qkv(const std::string& q, const std::string& k,
                                     const std::string& v, uint32_t head_dim, Value x) {
  const uint32_t n = columns(x);
  const uint32_t width = graph_.n_heads * head_dim;
  const auto q_position = matrix(q, 2 * width, n);
  const auto k_position = matrix(k, 0, n);
  const auto v_position = matrix(v, 0, n);
  const auto rows = [&](const std::optional<uint32_t>& position) {
    return position ? static_cast<uint32_t>(file_.tensors[*position].rows()) : 0;
  };
  const uint32_t n_k = rows(k_position), n_v = rows(v_position);
  const GatedQkv out = {make(q, width + n_k + n_v, rows_of(x)), make(q, width, rows_of(x))};
  bool first = true;
  const auto product = [&](WeightSpec spec, Value y, uint32_t column) {
    if (error_) return;
    spec.type = file_.tensors[spec.tensors[0]].type;
    spec.columns = n;
    MatmulOp op{spec.label, weight(spec), x.id, y.id, column};
    op.shares_x = !first;
    graph_.ops.emplace_back(std::move(op));
    first = false;
  };
  if (error_) return out;
  const auto part = [&](const std::string& label, uint32_t n_rows, uint32_t position,
                        RowOrder order = RowOrder::kConcatenated) {
    WeightSpec spec{label, {}, n_rows, n, {position}, order};
    if (order != RowOrder::kConcatenated) spec.block_rows = head_dim;
    return spec;
  };
  product(part(q, width, *q_position, RowOrder::kEvenBlocks), out.qkv, 0);
  product(part(k, n_k, *k_position), out.qkv, width);
  product(part(v, n_v, *v_position), out.qkv, width + n_k);
  product(part(q + " (gate)", width, *q_position, RowOrder::kOddBlocks), out.gate, 0);
  return out;
}

Value Builder::conv(Value x, const ConvSpec& spec) {
  const formats::Tensor* tensor = file_.find_tensor(spec.weight);
  kernels::ConvShape shape{spec.n_channels,    0,        columns(x), spec.x_column,
                           !spec.bias.empty(), spec.form};
  shape.n_taps = tensor ? static_cast<uint32_t>(std::min<uint64_t>(tensor->columns(), 1 << 20)) : 2;
  const auto weights = elements(spec.weight, uint64_t{shape.n_taps} * spec.n_channels);
  std::optional<VectorId> bias;
  if (shape.has_bias) bias = elements(spec.bias, spec.n_channels);
  if (!error_ && (shape.n_taps < 2 || shape.n_taps > kernels::kMaxConvTaps)) {
    fail(ErrorCode::kUnsupported,
         fmt::format("The convolution \"{}\" has {} taps; 2 to {} are supported.", spec.weight,
                     shape.n_taps, kernels::kMaxConvTaps));
  }
  const uint32_t parts = spec.form == kernels::ConvForm::kGated ? 3 : 1;
  if (!error_ && spec.x_column + uint64_t{parts} * spec.n_channels > columns(x)) {
    fail(ErrorCode::kCorrupt,
         fmt::format("The convolution \"{}\" reads {} columns from {} on, but its input has {}.",
                     spec.weight, uint64_t{parts} * spec.n_channels, spec.x_column, columns(x)));
  }
  const Value y = make(spec.weight, spec.n_channels, Rows::kTokens);
  if (error_) return y;
  const StateId id = state(spec.layer, "conv", shape.state_floats());
  graph_.ops.emplace_back(ConvOp{spec.weight, id, x.id, y.id, *weights, bias, shape});
  return y;
}

Value Builder::ssd(Value xbc, Value in, const SsdSpec& spec) {
  kernels::SsdShape shape = spec.shape;
  shape.in_stride = columns(in);
  const auto a = elements(spec.a, shape.n_heads);
  const auto d = elements(spec.d, shape.n_heads);
  const auto dt_bias = elements(spec.dt_bias, shape.n_heads);
  if (!error_ && columns(xbc) != shape.xbc_columns()) {
    fail(ErrorCode::kCorrupt, fmt::format("The scan of layer {} reads {} columns, but gets {}.",
                                          spec.layer, shape.xbc_columns(), columns(xbc)));
  }
  const Value y = make("ssd", shape.inner(), Rows::kTokens);
  if (error_) return y;
  const StateId id = state(spec.layer, "ssd", shape.state_floats());
  graph_.ops.emplace_back(SsdOp{fmt::format("blk.{}.ssd", spec.layer), id, xbc.id, in.id, y.id, *a,
                                *d, *dt_bias, shape});
  return y;
}

Value Builder::scan(Value x, Value dt, Value bc, Value in, const ScanSpec& spec) {
  kernels::ScanShape shape{columns(x), columns(bc) / 2, columns(in), spec.z_column};
  const auto a = matrix(spec.a, shape.n_channels, shape.n_state);
  const auto d = elements(spec.d, shape.n_channels);
  if (!error_ && (columns(dt) != shape.n_channels || columns(bc) % 2 != 0 ||
                  columns(in) < uint64_t{spec.z_column} + shape.n_channels)) {
    fail(ErrorCode::kCorrupt,
         fmt::format("The scan of layer {} has {} channels, but gets {} steps, {} columns of B and "
                     "C, and {} of its gate.",
                     spec.layer, shape.n_channels, columns(dt), columns(bc),
                     columns(in) - std::min(spec.z_column, columns(in))));
  }
  const Value y = make("scan", shape.n_channels, Rows::kTokens);
  if (error_) return y;
  const VectorId decay =
      vector(VectorSpec{spec.a, {*a}, static_cast<uint32_t>(shape.state_floats())});
  const StateId id = state(spec.layer, "scan", shape.state_floats());
  graph_.ops.emplace_back(ScanOp{fmt::format("blk.{}.scan", spec.layer), id, x.id, dt.id, bc.id,
                                 in.id, y.id, decay, *d, shape});
  return y;
}

Value Builder::delta(Value qkv, Value in, const DeltaSpec& spec) {
  kernels::DeltaShape shape = spec.shape;
  shape.in_stride = columns(in);
  const auto a = elements(spec.a, shape.n_value_heads);
  const auto dt_bias = elements(spec.dt_bias, shape.n_value_heads);
  if (!error_ && columns(qkv) != shape.qkv_columns()) {
    fail(ErrorCode::kCorrupt,
         fmt::format("The delta rule of layer {} reads {} columns, but gets {}.", spec.layer,
                     shape.qkv_columns(), columns(qkv)));
  }
  const Value y = make("delta", shape.value_columns(), Rows::kTokens);
  if (error_) return y;
  const StateId id = state(spec.layer, "delta", shape.state_floats());
  graph_.ops.emplace_back(DeltaOp{fmt::format("blk.{}.delta", spec.layer), id, qkv.id, in.id, y.id,
                                  *a, *dt_bias, shape});
  return y;
}

StateId Builder::shift_state(uint32_t layer, std::string_view what, Value x) {
  return state(layer, what, columns(x));
}

Value Builder::shift(Value x, const ShiftMix& mix, StateId to, bool keeps) {
  const uint32_t n = columns(x);
  const uint64_t n_mixes = rows_of_tensor(mix.mix);
  const auto vector = elements(mix.mix, std::max<uint64_t>(n_mixes, 1) * n);
  if (!error_ && mix.part >= n_mixes) {
    fail(ErrorCode::kCorrupt, fmt::format("Tensor \"{}\" has {} mixes, but {} are needed.", mix.mix,
                                          n_mixes, mix.part + 1));
  }
  if (!error_ && n % 4 != 0) {
    fail(ErrorCode::kUnsupported,
         fmt::format("The token shift \"{}\" has {} columns; multiples of 4 are supported.",
                     mix.mix, n));
  }
  const Value y = make(mix.mix, n, Rows::kTokens);
  if (error_) return y;
  kernels::ShiftShape shape{n, mix.part * n};
  shape.keeps = keeps;
  std::optional<ValueId> by;
  if (mix.by) {
    by = mix.by->id;
    shape.by_stride = columns(*mix.by);
    shape.by_column = mix.by_part * n;
  }
  if (shape.by_stride % n != 0 || shape.by_column > shape.by_stride - (by ? n : 0)) {
    fail(ErrorCode::kCorrupt, fmt::format("Part {} of {} columns is asked for, {} wide.",
                                          mix.by_part, shape.by_stride, n));
    return y;
  }
  graph_.ops.emplace_back(ShiftOp{mix.mix, to, x.id, by, y.id, *vector, shape});
  return y;
}

Builder::Wkv Builder::wkv(Value in, Value values, const WkvSpec& spec) {
  kernels::WkvShape shape = spec.shape;
  shape.in_stride = columns(in);
  const uint32_t n = shape.n();
  std::vector<VectorId> constants;
  for (const std::string& name : spec.constants) {
    const auto id = elements(name, n);
    if (id) constants.push_back(*id);
  }
  if (!error_ && (constants.size() != shape.n_constants() || columns(values) != n ||
                  columns(in) < uint64_t{shape.n_parts()} * n)) {
    fail(ErrorCode::kCorrupt,
         fmt::format("The recurrence of layer {} has {} heads of {} elements, but gets {} columns, "
                     "{} of values and {} constants.",
                     spec.layer, shape.n_heads, shape.head_dim, columns(in), columns(values),
                     constants.size()));
  }
  Wkv out = {make("wkv", n, Rows::kTokens), {}};
  if (shape.rule == kernels::WkvRule::kSeven) out.extra = make("wkv.extra", n, Rows::kTokens);
  if (error_) return out;
  std::optional<ValueId> extra;
  if (out.extra) extra = out.extra->id;
  const StateId id = state(spec.layer, "wkv", shape.state_floats());
  graph_.ops.emplace_back(WkvOp{fmt::format("blk.{}.wkv", spec.layer), id, in.id, values.id,
                                out.y.id, extra, std::move(constants), shape});
  return out;
}

Value Builder::group_norm(Value x, std::string_view gamma, uint32_t n_groups, float eps,
                          std::optional<NormGate> gate) {
  const uint32_t n = columns(x);
  if (!error_ && (n_groups == 0 || n % n_groups != 0)) {
    fail(ErrorCode::kCorrupt,
         fmt::format("The norm \"{}\" has {} groups of {} columns.", gamma, n_groups, n));
  }
  const formats::Tensor* tensor = file_.find_tensor(gamma);
  const bool alike = tensor && n_groups > 0 && tensor->rows() * tensor->columns() == n / n_groups;
  const uint32_t n_gamma = alike ? n / n_groups : n;
  const auto id = elements(gamma, n_gamma);
  const Value y = make(gamma, n, rows_of(x));
  if (error_) return y;
  const kernels::GroupNormShape shape{
      n, n_groups, n_gamma, gate ? columns(gate->value) : 0, gate ? gate->column : 0, eps};
  std::optional<ValueId> by;
  if (gate) by = gate->value.id;
  graph_.ops.emplace_back(GroupNormOp{std::string(gamma), x.id, by, y.id, *id, shape});
  return y;
}

}  // namespace puna::plan
