#include "engine/weight_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

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
  if (const uint64_t block = weight.block_rows; block > 0) {
    const uint64_t odd = weight.order == plan::RowOrder::kOddBlocks ? 1 : 0;
    return {weight.tensors[0], (row / block * 2 + odd) * block + row % block};
  }
  for (uint32_t position : weight.tensors) {
    const uint64_t n = file.tensors[position].rows();
    if (row < n) return {position, row};
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
    const uint64_t together = weight.block_rows > 0 ? weight.block_rows - at.row % weight.block_rows
                                                    : tensor.rows() - at.row;
    const uint64_t n = std::min(piece.n_rows - done, together);
    const auto part = out.subspan(static_cast<size_t>(done * row), static_cast<size_t>(n * row));
    PUNA_CO_TRY(co_await read_bytes(file, tensor, at.row * row, part));
    done += n;
  }
  co_return {};
}

}  // namespace

Task<Result<void>> read_piece(const ModelFile& file, const plan::WeightSpec& weight, Piece piece,
                              std::span<std::byte> out, std::vector<std::byte>& temporary) {
  PUNA_CHECK(out.size() == piece.n_rows * quant::row_bytes(weight.type, piece.n_columns));
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
  std::vector<float> out(vector.n);
  size_t at = 0;
  for (const uint32_t position : vector.tensors) {
    const Tensor& tensor = file.tensors[position];
    std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes));
    PUNA_CO_TRY(co_await read_bytes(file, tensor, 0, bytes));
    const auto n = static_cast<size_t>(tensor.columns() * tensor.rows());
    PUNA_CHECK(at + n <= out.size());
    quant::info(tensor.type).decode(bytes.data(), out.data() + at, n);
    at += n;
  }
  if (vector.order == plan::RowOrder::kInterleaved4) {
    std::vector<float> parts = out;
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = parts[i / 4 % 2 * (out.size() / 2) + i / 8 * 4 + i % 4];
  }
  co_return out;
}

}  // namespace puna::engine
