#include "models/vision/arrange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <utility>

namespace puna::models {

using base::ErrorCode;
using base::Result;
using formats::ModelFile;
using formats::RawTensor;
using formats::Strided;
using formats::Tensor;

namespace {

uint64_t product(const std::vector<uint64_t>& shape) {
  uint64_t n = 1;
  for (const uint64_t size : shape) n *= size;
  return n;
}

// The tensor of this name to be changed; null where the file has none, or none that can be used:
// whoever needs it says so.
Tensor* find(ModelFile& file, const std::string& name) {
  const Tensor* tensor = file.find_tensor(name);
  return tensor && tensor->usable()
             ? &file.tensors[static_cast<size_t>(tensor - file.tensors.data())]
             : nullptr;
}

RawTensor raw(const Tensor& tensor) {
  return {tensor.name,   tensor.type,   tensor.type_name(), tensor.shape,
          tensor.source, tensor.offset, tensor.bytes};
}

base::Error misshapen(const Tensor& tensor, const std::vector<uint64_t>& wanted) {
  return {ErrorCode::kCorrupt,
          fmt::format("Tensor \"{}\" has shape [{}], but one of the elements of [{}] is expected.",
                      tensor.name, fmt::join(tensor.shape, ", "), fmt::join(wanted, ", ")),
          {}};
}

void replace(ModelFile& file, Tensor& tensor, std::unique_ptr<io::ByteSource> source,
             quant::Type type, std::vector<uint64_t> shape) {
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.source = static_cast<uint32_t>(file.sources.size());
  tensor.offset = 0;
  tensor.bytes = source->size();
  file.sources.push_back(std::move(source));
}

}  // namespace

Result<uint32_t> bounded(const std::string& key, uint64_t value, uint64_t limit) {
  if (value > 0 && value <= limit) return static_cast<uint32_t>(value);
  return base::fail(ErrorCode::kCorrupt,
                    fmt::format("The key \"{}\" is {}; it must be 1 to {}.", key, value, limit));
}

Result<void> reshape_tensor(ModelFile& file, const std::string& name, std::vector<uint64_t> shape) {
  Tensor* const tensor = find(file, name);
  if (!tensor) return {};
  if (product(tensor->shape) != product(shape)) return std::unexpected(misshapen(*tensor, shape));
  tensor->shape = std::move(shape);
  return {};
}

Result<void> view_tensor(ModelFile& file, const std::string& name, std::vector<uint64_t> shape,
                         Moves moves, const std::function<void(Strided&)>& change) {
  Tensor* const tensor = find(file, name);
  if (!tensor) return {};
  if (moves == Moves::kElements && quant::info(tensor->type).block_elements > 1) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("Tensor \"{}\" is of the type {}; here f32, f16 and bf16 are "
                                  "supported.",
                                  name, tensor->type_name()));
  }
  const RawTensor stored = raw(*tensor);
  Strided view(stored, *file.sources[tensor->source]);
  change(view);
  PUNA_TRY(view.check());
  if (view.elements() != product(shape)) return std::unexpected(misshapen(*tensor, shape));
  std::vector<Strided> parts(1, view);
  replace(file, *tensor,
          formats::make_view(name, std::move(parts), tensor->type, formats::make_view_tile()),
          tensor->type, std::move(shape));
  return {};
}

Result<void> swap_row_halves(ModelFile& file, const std::string& name) {
  Tensor* const tensor = find(file, name);
  if (!tensor) return {};
  const uint64_t rows = tensor->rows();
  if (rows % 2 != 0) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("Tensor \"{}\" has shape [{}], but two halves of rows are "
                                  "expected.",
                                  name, fmt::join(tensor->shape, ", ")));
  }
  const RawTensor stored = raw(*tensor);
  std::vector<Strided> halves(2, Strided(stored, *file.sources[tensor->source]));
  halves[0].slice(0, rows / 2, rows / 2);
  halves[1].slice(0, 0, rows / 2);
  for (const Strided& half : halves) PUNA_TRY(half.check());
  replace(file, *tensor,
          formats::make_view(name, std::move(halves), tensor->type, formats::make_view_tile()),
          tensor->type, tensor->shape);
  return {};
}

Result<void> append_bias_column(ModelFile& file, const std::string& weight, const std::string& bias,
                                uint64_t rows, uint64_t columns) {
  Tensor* const w = find(file, weight);
  Tensor* const b = find(file, bias);
  if (!w || !b) {
    return base::fail(ErrorCode::kNotFound,
                      fmt::format("Tensor \"{}\" is missing.", w ? bias : weight));
  }
  if (product(w->shape) != rows * columns) return std::unexpected(misshapen(*w, {rows, columns}));
  if (product(b->shape) != rows || rows < kBiasColumns)
    return std::unexpected(misshapen(*b, {rows}));
  RawTensor stored_weight = raw(*w), stored_bias = raw(*b);
  stored_weight.shape = {rows, columns};
  stored_bias.shape = {rows};
  std::vector<Strided> parts;
  for (uint64_t row = 0; row < rows; ++row) {
    Strided& of_weight = parts.emplace_back(stored_weight, *file.sources[w->source]);
    of_weight.slice(0, row, 1);
    PUNA_TRY(of_weight.check());
    Strided& of_bias = parts.emplace_back(stored_bias, *file.sources[b->source]);
    of_bias.slice(0, row, 1);
    PUNA_TRY(of_bias.check());
    Strided& zeros = parts.emplace_back(stored_bias, *file.sources[b->source]);
    zeros.slice(0, 0, kBiasColumns - 1).times(0);
    PUNA_TRY(zeros.check());
  }
  w->name = fmt::format("{}.unfolded.weight", weight.substr(0, weight.rfind('.')));
  replace(
      file, *w,
      formats::make_view(w->name, std::move(parts), quant::Type::kF32, formats::make_view_tile()),
      quant::Type::kF32, {rows, columns + kBiasColumns});
  file.tensors.erase(file.tensors.begin() + (b - file.tensors.data()));
  file.index();
  return {};
}

Result<void> append_zero_columns(ModelFile& file, const std::string& name, uint64_t rows,
                                 uint64_t columns, uint64_t n_zeros) {
  Tensor* const tensor = find(file, name);
  if (!tensor) return {};
  if (product(tensor->shape) != rows * columns || n_zeros > rows * columns || rows == 0)
    return std::unexpected(misshapen(*tensor, {rows, columns}));
  RawTensor stored = raw(*tensor), flat = stored;
  stored.shape = {rows, columns};
  flat.shape = {rows * columns};
  std::vector<Strided> parts;
  for (uint64_t row = 0; row < rows; ++row) {
    Strided& values = parts.emplace_back(stored, *file.sources[tensor->source]);
    values.slice(0, row, 1);
    PUNA_TRY(values.check());
    Strided& zeros = parts.emplace_back(flat, *file.sources[tensor->source]);
    zeros.slice(0, 0, n_zeros).times(0);
    PUNA_TRY(zeros.check());
  }
  replace(file, *tensor,
          formats::make_view(name, std::move(parts), quant::Type::kF32, formats::make_view_tile()),
          quant::Type::kF32, {rows, columns + n_zeros});
  return {};
}

}  // namespace puna::models
