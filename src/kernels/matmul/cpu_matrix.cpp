// Holds a weight matrix in packed groups (packed.h), the same for every variant.
#include "kernels/matmul/cpu_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/check.h"
#include "base/half.h"
#include "kernels/matmul/packed.h"

namespace puna::kernels {
namespace {

constexpr std::align_val_t kAlignment{64};

// Copies elements of kBytes from rows to [column][16 rows].
template <size_t kBytes>
void interleave(const std::byte* rows, uint32_t n_rows, uint32_t cols, std::byte* group) {
  for (uint32_t r = 0; r < n_rows; ++r) {
    const std::byte* row = rows + uint64_t{r} * cols * kBytes;
    for (uint32_t c = 0; c < cols; ++c) {
      std::memcpy(group + (uint64_t{c} * kGroupRows + r) * kBytes, row + uint64_t{c} * kBytes,
                  kBytes);
    }
  }
}

float load_float(quant::Type type, const std::byte* group, uint64_t index) {
  if (type == quant::Type::kF32) {
    float value = 0;
    std::memcpy(&value, group + index * 4, 4);
    return value;
  }
  uint16_t half = 0;
  std::memcpy(&half, group + index * 2, 2);
  return type == quant::Type::kF16 ? base::f16_to_f32(half) : base::bf16_to_f32(half);
}

}  // namespace

void CpuMatrix::Free::operator()(std::byte* p) const { ::operator delete[](p, kAlignment); }

base::Result<CpuMatrix> CpuMatrix::create(quant::Type type, uint32_t rows, uint32_t cols,
                                          Numerics numerics, std::byte* place) {
  if (cols == 0 || rows == 0 || cols % quant::info(type).block_elements != 0) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("A {} x {} matrix of {} is not made of whole blocks of {} columns.", rows, cols,
                    quant::info(type).name, quant::info(type).block_elements));
  }
  CpuMatrix matrix;
  matrix.type_ = type;
  matrix.rows_ = rows;
  matrix.cols_ = cols;
  matrix.numerics_ = numerics;
  matrix.bytes_ = packed_bytes(type, rows, cols);
  matrix.data_ = place;
  if (place) return matrix;
  std::byte* data = nullptr;
  if (matrix.bytes_ <= SIZE_MAX / 2)
    data = new (kAlignment, std::nothrow) std::byte[static_cast<size_t>(matrix.bytes_)];
  if (!data) {
    return base::fail(base::ErrorCode::kOutOfMemory,
                      fmt::format("There is no memory for {} bytes of weights; a model of fewer "
                                  "parameters or bits per weight needs less.",
                                  matrix.bytes_));
  }
  matrix.owned_.reset(data);
  matrix.data_ = data;
  // The last group's missing rows are zeros, and so is the padding; the rest is written by
  // set_rows().
  const uint64_t group_bytes = packed_group_bytes(type, cols);
  std::memset(data + (matrix.bytes_ - group_bytes), 0, static_cast<size_t>(group_bytes));
  return matrix;
}

uint64_t CpuMatrix::packed_bytes(quant::Type type, uint32_t rows, uint32_t cols) {
  return (uint64_t{rows} + kGroupRows - 1) / kGroupRows * packed_group_bytes(type, cols);
}

CpuMatrix CpuMatrix::in_place(quant::Type type, uint32_t rows, uint32_t cols,
                              const std::byte* file_rows) {
  CpuMatrix matrix;
  matrix.type_ = type;
  matrix.rows_ = rows;
  matrix.cols_ = cols;
  matrix.bytes_ = rows * quant::row_bytes(type, cols);
  matrix.file_rows_ = file_rows;
  return matrix;
}

void CpuMatrix::set_rows(uint32_t first_row, std::span<const std::byte> file_rows) {
  const uint64_t row_bytes = quant::row_bytes(type_, cols_);
  const uint64_t n_rows = file_rows.size() / row_bytes;
  PUNA_CHECK(data_ != nullptr && first_row % kRowGroup == 0 && first_row + n_rows <= rows_);
  for (uint64_t done = 0; done < n_rows; done += kGroupRows) {
    const uint32_t n = static_cast<uint32_t>(std::min<uint64_t>(kGroupRows, n_rows - done));
    const std::byte* rows = file_rows.data() + done * row_bytes;
    std::byte* group = data_ + (first_row + done) / kGroupRows * packed_group_bytes(type_, cols_);
    if (type_ == quant::Type::kF32) {
      interleave<4>(rows, n, cols_, group);
    } else if (is_float(type_)) {
      interleave<2>(rows, n, cols_, group);
    } else if (keeps_file_rows(type_)) {
      std::memcpy(group, rows, static_cast<size_t>(n * row_bytes));
    } else {
      pack_rows(type_, rows, n, cols_ / kUnitCols, group);
    }
  }
}

void CpuMatrix::decode_row(uint32_t row, float* out) const {
  PUNA_CHECK(row < rows_);
  if (file_rows_) {
    const uint64_t row_bytes = quant::row_bytes(type_, cols_);
    quant::info(type_).decode(file_rows_ + row * row_bytes, out, cols_);
    return;
  }
  const std::byte* group = data_ + row / kGroupRows * packed_group_bytes(type_, cols_);
  const uint32_t r = row % kGroupRows;
  if (is_float(type_)) {
    for (uint32_t c = 0; c < cols_; ++c)
      out[c] = load_float(type_, group, uint64_t{c} * kGroupRows + r);
    return;
  }
  if (keeps_file_rows(type_)) {
    quant::info(type_).decode(group + r * quant::row_bytes(type_, cols_), out, cols_);
    return;
  }
  for (uint32_t unit = 0; unit < cols_ / kUnitCols; ++unit) {
    decode_unit(type_, load_unit(type_, group, r, unit), out + unit * kUnitCols);
  }
}

}  // namespace puna::kernels
