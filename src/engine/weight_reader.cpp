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

// Rows [first, first + n) of one tensor.
Task<Result<void>> read_tensor_rows(const ModelFile& file, const Tensor& tensor, uint64_t first, uint64_t n,
                                    std::span<std::byte> out) {
  const uint64_t row = quant::row_bytes(tensor.type, tensor.columns());
  PUNA_CHECK(out.size() == n * row && (first + n) * row <= tensor.bytes);
  PUNA_CO_TRY_CONTEXT(co_await io::read(*file.sources[tensor.source], tensor.offset + first * row, out),
                      fmt::format("While reading tensor \"{}\"", tensor.name));
  co_return {};
}

}  // namespace

Task<Result<void>> read_rows(const ModelFile& file, const plan::WeightSpec& weight, uint32_t first_row, uint32_t n_rows,
                             std::span<std::byte> out, std::vector<std::byte>& temporary) {
  const uint64_t row = quant::row_bytes(weight.type, weight.columns);
  PUNA_CHECK(out.size() == n_rows * row);
  if (weight.order == plan::RowOrder::kInterleaved4) {
    // Destination groups of 4 rows alternate between the two tensors.
    PUNA_CHECK(first_row % 8 == 0 && n_rows % 8 == 0);
    temporary.resize(out.size() / 2);
    for (size_t part = 0; part < 2; ++part) {
      PUNA_CO_TRY(co_await read_tensor_rows(file, file.tensors[weight.tensors[part]], first_row / 2, n_rows / 2, temporary));
      for (uint64_t group = 0; group < n_rows / 8; ++group) {
        std::memcpy(out.data() + (2 * group + part) * 4 * row, temporary.data() + group * 4 * row, 4 * row);
      }
    }
    co_return {};
  }
  uint64_t tensor_first = 0;  // destination row where the current tensor begins
  for (uint32_t position : weight.tensors) {
    const Tensor& tensor = file.tensors[position];
    const uint64_t begin = std::max<uint64_t>(first_row, tensor_first);
    const uint64_t end = std::min<uint64_t>(uint64_t{first_row} + n_rows, tensor_first + tensor.rows());
    if (begin < end) {
      PUNA_CO_TRY(co_await read_tensor_rows(file, tensor, begin - tensor_first, end - begin,
                                            out.subspan((begin - first_row) * row, (end - begin) * row)));
    }
    tensor_first += tensor.rows();
  }
  co_return {};
}

Task<Result<std::vector<float>>> read_vector(const ModelFile& file, const plan::VectorSpec& vector) {
  const Tensor& tensor = file.tensors[vector.tensor];
  std::vector<std::byte> bytes(tensor.bytes);
  PUNA_CO_TRY(co_await read_tensor_rows(file, tensor, 0, tensor.rows(), bytes));
  std::vector<float> out(vector.n);
  quant::info(tensor.type).decode(bytes.data(), out.data(), vector.n);
  co_return out;
}

}  // namespace puna::engine
