#include "kernels/matmul/cpu_matrix.h"

#include <doctest/doctest.h>

#include <bit>

#include "kernels/common/test_util.h"
#include "quant/random_rows.h"

namespace puna::kernels {
namespace {

TEST_CASE("a packed matrix decodes every row of every type bit for bit") {
  for (const quant::TypeInfo& info : quant::types()) {
    CAPTURE(info.name);
    const uint32_t cols = info.block_elements * 3;
    for (const uint32_t rows : {1u, 16u, 37u}) {
      const std::vector<std::byte> file =
          quant::random_rows(info.type, rows, cols, 1, 0.02f, /*extremes=*/true);
      const std::vector<float> expected = test::decode_rows(info.type, file);
      auto matrix = CpuMatrix::create(info.type, rows, cols, Numerics::kFast);
      REQUIRE(matrix.has_value());
      // In two pieces, as a loader hands them over.
      const uint32_t first = rows > 16 ? 16 : rows;
      const size_t split = first * quant::row_bytes(info.type, cols);
      matrix->set_rows(0, std::span(file).first(split));
      if (first < rows) matrix->set_rows(first, std::span(file).subspan(split));
      std::vector<float> row(cols);
      size_t wrong = 0;
      for (uint32_t r = 0; r < rows; ++r) {
        matrix->decode_row(r, row.data());
        for (uint32_t c = 0; c < cols; ++c) {
          // Zeros may differ in sign: an offset is added after scaling.
          wrong += row[c] != expected[size_t{r} * cols + c] ? 1 : 0;
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("packing does not grow the weights beyond padding to whole groups") {
  for (const quant::TypeInfo& info : quant::types()) {
    CAPTURE(info.name);
    const uint32_t cols = 256 * 8;
    auto matrix = CpuMatrix::create(info.type, 64, cols, Numerics::kFast);
    REQUIRE(matrix.has_value());
    CHECK(matrix->bytes() == 64 * quant::row_bytes(info.type, cols));
    CHECK(reinterpret_cast<uintptr_t>(matrix->data()) % 64 == 0);
  }
}

TEST_CASE("a matrix that is not whole blocks, or larger than memory, is refused") {
  auto odd = CpuMatrix::create(quant::Type::kQ4_K, 16, 128, Numerics::kExact);
  REQUIRE_FALSE(odd.has_value());
  CHECK(odd.error().code == base::ErrorCode::kUnsupported);
  CHECK(odd.error().message.find("16 x 128 matrix of q4_k") != std::string::npos);
  auto huge = CpuMatrix::create(quant::Type::kF32, 0xfffffff0u, 0xfffffff0u, Numerics::kExact);
  REQUIRE_FALSE(huge.has_value());
  CHECK(huge.error().code == base::ErrorCode::kOutOfMemory);
}

TEST_CASE("a variant is forced by name, and an unknown name is refused with those that exist") {
  const std::vector<std::string_view> names = cpu_variants();
  REQUIRE(!names.empty());
  CHECK(cpu_variant() == names.front());
  for (const std::string_view name : names) {
    REQUIRE(set_cpu_variant(name).has_value());
    CHECK(cpu_variant() == name);
    CHECK(cpu_variants() == names);
  }
  auto unknown = set_cpu_variant("mmx");
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().message.find("\"mmx\"") != std::string::npos);
  CHECK(unknown.error().message.find(names.front()) != std::string::npos);
  REQUIRE(set_cpu_variant(names.front()).has_value());
}

}  // namespace
}  // namespace puna::kernels
