#include "engine/weight_reader.h"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <span>
#include <vector>

#include "io/byte_source.h"

namespace puna::engine {
namespace {

constexpr uint32_t kHeads = 3, kKeys = 4, kValues = 6, kColumns = 64;

// A tensor [kHeads * (kKeys + kValues), kColumns] of a type, and its values as they are stored.
struct Heads {
  explicit Heads(quant::Type type) {
    constexpr uint32_t kRows = kHeads * (kKeys + kValues);
    values.resize(size_t{kRows} * kColumns);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& v : values) v = normal(random);
    formats::Tensor tensor;
    tensor.name = "kv_b";
    tensor.type = type;
    tensor.shape = {kRows, kColumns};
    tensor.bytes = quant::row_bytes(type, kColumns) * kRows;
    std::vector<std::byte> bytes(static_cast<size_t>(tensor.bytes));
    quant::info(type).encode(values.data(), bytes.data(), values.size());
    quant::info(type).decode(bytes.data(), values.data(), values.size());
    file.tensors.push_back(std::move(tensor));
    file.sources.push_back(io::from_memory("heads", std::move(bytes)));
    file.index();
  }
  float at(uint32_t head, uint32_t row, uint32_t column) const {
    return values[(size_t{head} * (kKeys + kValues) + row) * kColumns + column];
  }
  std::vector<float> read(const plan::WeightSpec& weight, Piece piece) const {
    std::vector<std::byte> bytes(
        static_cast<size_t>(quant::row_bytes(weight.type, piece.n_columns) * piece.n_rows));
    std::vector<std::byte> temporary;
    const auto done = base::run_until(read_piece(file, weight, piece, bytes, temporary), [] {});
    REQUIRE_MESSAGE(done.has_value(), done.error().text());
    std::vector<float> out(size_t{piece.n_rows} * piece.n_columns);
    quant::info(weight.type).decode(bytes.data(), out.data(), out.size());
    return out;
  }

  formats::ModelFile file;
  std::vector<float> values;
};

plan::WeightSpec spec_of(quant::Type type, plan::RowOrder order, uint32_t rows, uint32_t columns,
                         uint32_t block_rows) {
  return {"weight", type, rows, columns, {0}, order, kHeads, block_rows};
}

TEST_CASE("keys of heads are read turned over, whatever piece of them is wanted") {
  for (const auto& [stored, read] : {std::pair{quant::Type::kF32, quant::Type::kF32},
                                     {quant::Type::kQ8_0, quant::Type::kF32},
                                     {quant::Type::kBf16, quant::Type::kBf16}}) {
    const Heads heads(stored);
    const auto spec =
        spec_of(read, plan::RowOrder::kHeadKeysTurned, kHeads * kColumns, kKeys, kKeys);
    for (const Piece piece :
         {Piece{0, kHeads * kColumns, 0, kKeys}, {50, 100, 0, kKeys}, {130, 8, 1, 2}}) {
      const std::vector<float> got = heads.read(spec, piece);
      size_t n_wrong = 0;
      for (uint32_t i = 0; i < piece.n_rows; ++i) {
        for (uint32_t j = 0; j < piece.n_columns; ++j) {
          const uint32_t row = piece.first_row + i;
          n_wrong += got[size_t{i} * piece.n_columns + j] !=
                     heads.at(row / kColumns, piece.first_column + j, row % kColumns);
        }
      }
      CHECK(n_wrong == 0);
    }
  }
}

TEST_CASE("values of heads are the rows behind their keys") {
  const Heads heads(quant::Type::kQ8_0);
  const auto spec =
      spec_of(quant::Type::kQ8_0, plan::RowOrder::kHeadValues, kHeads * kValues, kColumns, kKeys);
  for (const Piece piece :
       {Piece{0, kHeads * kValues, 0, kColumns}, {5, 9, 0, kColumns}, {7, 3, 32, 32}}) {
    const std::vector<float> got = heads.read(spec, piece);
    size_t n_wrong = 0;
    for (uint32_t i = 0; i < piece.n_rows; ++i) {
      for (uint32_t j = 0; j < piece.n_columns; ++j) {
        const uint32_t row = piece.first_row + i;
        n_wrong += got[size_t{i} * piece.n_columns + j] !=
                   heads.at(row / kValues, kKeys + row % kValues, piece.first_column + j);
      }
    }
    CHECK(n_wrong == 0);
  }
}

TEST_CASE("a weight may be the rows of a tensor from one of them on") {
  const Heads heads(quant::Type::kF16);
  const auto spec = spec_of(quant::Type::kF16, plan::RowOrder::kRowsFrom, 20, kColumns, 10);
  const std::vector<float> got = heads.read(spec, {3, 17, 0, kColumns});
  CHECK(got == std::vector<float>(heads.values.begin() + 13 * kColumns, heads.values.end()));
}

TEST_CASE(
    "infinities of a vector are read as they are, but for bounds, which are then the largest") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kMost = std::numeric_limits<float>::max();
  const std::vector<float> stored = {-kInfinity, 2.0f, kInfinity};
  formats::ModelFile file;
  formats::Tensor tensor;
  tensor.name = "vector";
  tensor.shape = {3};
  tensor.bytes = stored.size() * sizeof(float);
  file.tensors.push_back(tensor);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(stored));
  file.sources.push_back(io::from_memory("vector", std::vector(bytes.begin(), bytes.end())));
  file.index();
  const auto read = [&](bool bounds) {
    const auto out = base::run_until(
        read_vector(file, {.label = "vector", .tensors = {0}, .n = 3, .bounds = bounds}), [] {});
    REQUIRE_MESSAGE(out.has_value(), out.error().text());
    return *out;
  };
  CHECK(read(false) == stored);
  CHECK(read(true) == std::vector<float>{-kMost, 2.0f, kMost});
}

}  // namespace
}  // namespace puna::engine
