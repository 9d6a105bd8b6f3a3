#include "engine/weight_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace puna::engine {

using base::Result;
using base::Task;
using formats::ModelFile;
using formats::Tensor;

namespace {

Task<Result<void>> read_bytes(const ModelFile& file, const Tensor& tensor, uint64_t offset,
                              std::span<std::byte> out) {
  PUNA_CHECK(offset + out.size() <= tensor.bytes);
  PUNA_CO_TRY_CONTEXT(co_await io::read(*file.sources[tensor.source], tensor.offset + offset, out),
                      fmt::format("While reading tensor \"{}\"", tensor.name));
  co_return {};
}

struct TensorRow {
  uint32_t tensor = 0;  // position in ModelFile::tensors
  uint64_t row = 0;
  uint64_t together = 1;  // rows from it on that follow each other in the weight as well
};

// Row `row` of gate (part 0) or up (part 1) of an interleaved weight.
TensorRow part_row(const plan::WeightSpec& weight, size_t part, uint64_t row) {
  if (weight.order == plan::RowOrder::kHalvesInterleaved4)
    return {weight.tensors[0], part * (weight.rows / 2) + row};
  return {weight.tensors[part], row};
}

TensorRow locate(const ModelFile& file, const plan::WeightSpec& weight, uint64_t row) {
  if (plan::is_interleaved(weight.order))
    return part_row(weight, row / 4 % 2, row / 8 * 4 + row % 4);
  if (weight.order == plan::RowOrder::kRowsFrom)
    return {weight.tensors[0], weight.block_rows + row, weight.rows - row};
  if (const uint64_t block = weight.block_rows; block > 0) {
    const bool heads = weight.order == plan::RowOrder::kHeadValues;
    const uint64_t n = heads ? weight.rows / weight.n_parts : block;
    const uint64_t before = weight.order == plan::RowOrder::kEvenBlocks ? 0 : block;
    return {weight.tensors[0], row / n * (block + n) + before + row % n, n - row % n};
  }
  for (uint32_t position : weight.tensors) {
    const uint64_t n = file.tensors[position].rows();
    if (row < n) return {position, row, n - row};
    row -= n;
  }
  PUNA_CHECK(false && "a row beyond the weight");
}

// Whole rows, a contiguous run at a time.
Task<Result<void>> read_rows(const ModelFile& file, const plan::WeightSpec& weight, Piece piece,
                             std::span<std::byte> out, std::vector<std::byte>& temporary) {
  const uint64_t row = quant::row_bytes(weight.type, weight.columns);
  if (plan::is_interleaved(weight.order)) {
    // Destination groups of 4 rows alternate between gate and up.
    PUNA_CHECK(piece.first_row % 8 == 0 && piece.n_rows % 8 == 0);
    temporary.resize(out.size() / 2);
    for (size_t part = 0; part < 2; ++part) {
      const TensorRow at = part_row(weight, part, piece.first_row / 2);
      PUNA_CO_TRY(co_await read_bytes(file, file.tensors[at.tensor], at.row * row, temporary));
      for (uint64_t group = 0; group < piece.n_rows / 8; ++group) {
        std::memcpy(out.data() + (2 * group + part) * 4 * row, temporary.data() + group * 4 * row,
                    static_cast<size_t>(4 * row));
      }
    }
    co_return {};
  }
  for (uint64_t done = 0; done < piece.n_rows;) {
    const TensorRow at = locate(file, weight, piece.first_row + done);
    const Tensor& tensor = file.tensors[at.tensor];
    const uint64_t n = std::min(piece.n_rows - done, at.together);
    const auto part = out.subspan(static_cast<size_t>(done * row), static_cast<size_t>(n * row));
    PUNA_CO_TRY(co_await read_bytes(file, tensor, at.row * row, part));
    done += n;
  }
  co_return {};
}

// Of heads' keys, turned over. The keys of a head are read as a whole.
Task<Result<void>> read_turned(const ModelFile& file, const plan::WeightSpec& weight, Piece piece,
                               std::span<std::byte> out, std::vector<std::byte>& temporary) {
  const Tensor& tensor = file.tensors[weight.tensors[0]];
  const quant::TypeInfo& from = quant::info(tensor.type);
  const quant::TypeInfo& to = quant::info(weight.type);
  const uint64_t n_rows = weight.rows / weight.n_parts;  // of a head; columns of the tensor
  const uint64_t stored_row = quant::row_bytes(tensor.type, n_rows);
  const uint64_t head_bytes = tensor.rows() / weight.n_parts * stored_row;
  const auto row_bytes = static_cast<size_t>(quant::row_bytes(weight.type, piece.n_columns));
  std::vector<float> keys(static_cast<size_t>(weight.block_rows * n_rows));
  std::vector<float> turned(piece.n_columns);
  temporary.resize(static_cast<size_t>(weight.block_rows * stored_row));
  for (uint64_t done = 0; done < piece.n_rows;) {
    const uint64_t head = (piece.first_row + done) / n_rows;
    const uint64_t first = (piece.first_row + done) % n_rows;
    const uint64_t n = std::min(piece.n_rows - done, n_rows - first);
    PUNA_CO_TRY(co_await read_bytes(file, tensor, head * head_bytes, temporary));
    from.decode(temporary.data(), keys.data(), keys.size());
    for (uint64_t row = first; row < first + n; ++row, ++done) {
      for (size_t i = 0; i < turned.size(); ++i)
        turned[i] = keys[static_cast<size_t>((piece.first_column + i) * n_rows + row)];
      to.encode(turned.data(), out.data() + static_cast<size_t>(done) * row_bytes, turned.size());
    }
  }
  co_return {};
}

}  // namespace

Task<Result<void>> read_piece(const ModelFile& file, const plan::WeightSpec& weight, Piece piece,
                              std::span<std::byte> out, std::vector<std::byte>& temporary) {
  PUNA_CHECK(out.size() == piece.n_rows * quant::row_bytes(weight.type, piece.n_columns));
  if (weight.order == plan::RowOrder::kHeadKeysTurned)
    co_return co_await read_turned(file, weight, piece, out, temporary);
  if (piece.n_columns == weight.columns)
    co_return co_await read_rows(file, weight, piece, out, temporary);
  const uint64_t row = quant::row_bytes(weight.type, weight.columns);
  const auto part = static_cast<size_t>(quant::row_bytes(weight.type, piece.n_columns));
  for (size_t i = 0; i < piece.n_rows; ++i) {
    const TensorRow at = locate(file, weight, piece.first_row + i);
    const uint64_t offset = at.row * row + quant::row_bytes(weight.type, piece.first_column);
    PUNA_CO_TRY(
        co_await read_bytes(file, file.tensors[at.tensor], offset, out.subspan(i * part, part)));
  }
  co_return {};
}

Task<Result<std::vector<float>>> read_vector(const ModelFile& file,
                                             const plan::VectorSpec& vector) {
  const bool is_made = vector.buckets || vector.keys;  // of what is read
  std::vector<float> out(is_made ? 0 : vector.n);
  size_t at = 0;
  for (size_t i = 0; i < vector.tensors.size(); ++i) {
    const Tensor& tensor = file.tensors[vector.tensors[i]];
    // A number that stands for many elements is read once.
    if (i > 0 && vector.tensors[i] == vector.tensors[i - 1] && tensor.columns() == 1 &&
        tensor.rows() == 1) {
      PUNA_CHECK(at > 0 && at < out.size());
      out[at] = out[at - 1];
      ++at;
      continue;
    }
    std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes));
    PUNA_CO_TRY(co_await read_bytes(file, tensor, 0, bytes));
    const auto n = static_cast<size_t>(tensor.columns() * tensor.rows());
    if (is_made) out.resize(n);
    PUNA_CHECK(at + n <= out.size());
    quant::info(tensor.type).decode(bytes.data(), out.data() + at, n);
    at += n;
  }
  if (vector.buckets) {
    const auto n_heads = static_cast<uint32_t>(file.tensors[vector.tensors[0]].columns());
    out = kernels::relative_biases(*vector.buckets, n_heads, out.data());
    PUNA_CHECK(out.size() == vector.n);
  }
  if (vector.keys) {
    const Tensor& tensor = file.tensors[vector.tensors[0]];
    out = kernels::relative_keys(*vector.keys, static_cast<uint32_t>(tensor.rows()),
                                 static_cast<uint32_t>(tensor.columns()), out.data());
    PUNA_CHECK(out.size() == vector.n);
  }
  if (vector.bounds) {
    constexpr float kMost = std::numeric_limits<float>::max();
    for (float& value : out) value = std::clamp(value, -kMost, kMost);
  }
  if (vector.order == plan::RowOrder::kInterleaved4) {
    std::vector<float> parts = out;
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = parts[i / 4 % 2 * (out.size() / 2) + i / 8 * 4 + i % 4];
  }
  co_return out;
}

}  // namespace puna::engine
