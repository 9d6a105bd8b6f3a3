// CpuMatrix: a weight matrix in the layout of the running CPU variant, filled row group by row
// group while the file is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/common/call.h"
#include "quant/quant.h"

namespace puna::kernels {

// Names of the variants in this binary that this machine can run, best first ("avx512_vnni",
// "avx2", "portable").
std::vector<std::string_view> cpu_variants();
// Forces one of cpu_variants(); call before any matrix is made. Errors: kInvalidArgument listing
// the names.
base::Result<void> set_cpu_variant(std::string_view name);
std::string_view cpu_variant();

class CpuMatrix {
 public:
  // Rows are handed over in multiples of this many (the last group of a matrix may be shorter).
  static constexpr uint32_t kRowGroup = 16;

  CpuMatrix() = default;
  // rows x cols of `type`, packed for `numerics` (bits per weight do not grow), in memory of its
  // own or at `place`: packed_bytes() zeros, 64-byte aligned, that outlive the matrix. Errors:
  // kOutOfMemory, kUnsupported.
  static base::Result<CpuMatrix> create(quant::Type type, uint32_t rows, uint32_t cols,
                                        Numerics numerics, std::byte* place = nullptr);
  static uint64_t packed_bytes(quant::Type type, uint32_t rows, uint32_t cols);
  // A table that is only looked up in (decode_row), used where it lies in a mapped file. The rows
  // outlive it.
  static CpuMatrix in_place(quant::Type type, uint32_t rows, uint32_t cols,
                            const std::byte* file_rows);

  // Packs rows [first_row, first_row + n) given in file layout; first_row is a multiple of
  // kRowGroup. Disjoint groups may be set by several threads at once.
  void set_rows(uint32_t first_row, std::span<const std::byte> file_rows);

  // Decodes one row exactly to f32.
  void decode_row(uint32_t row, float* out) const;

  quant::Type type() const { return type_; }
  uint32_t rows() const { return rows_; }
  uint32_t cols() const { return cols_; }
  Numerics numerics() const { return numerics_; }
  uint64_t bytes() const { return bytes_; }
  const std::byte* data() const { return data_; }  // packed groups

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  quant::Type type_ = quant::Type::kF32;
  uint32_t rows_ = 0;
  uint32_t cols_ = 0;
  Numerics numerics_ = Numerics::kExact;
  uint64_t bytes_ = 0;
  std::unique_ptr<std::byte[], Free> owned_;
  std::byte* data_ = nullptr;             // 64-byte aligned
  const std::byte* file_rows_ = nullptr;  // instead of data_
};

}  // namespace puna::kernels
