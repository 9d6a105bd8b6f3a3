// Reads planned weights from a model file, row by row in the order the device wants them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "formats/model_file.h"
#include "plan/graph.h"

namespace puna::engine {

// A rectangle of a weight: rows, and of each the columns, in whole blocks of its type.
struct Piece {
  uint32_t first_row = 0;
  uint32_t n_rows = 0;
  uint32_t first_column = 0;
  uint32_t n_columns = 0;
};

// Fills `out` with the piece in file layout, row after row; fused rows come in destination order.
// For interleaved weights first_row and n_rows are multiples of 8. `temporary` is reused between
// calls. Errors: those of ByteSource::read, naming the tensor.
base::Task<base::Result<void>> read_piece(const formats::ModelFile& file,
                                          const plan::WeightSpec& weight, Piece piece,
                                          std::span<std::byte> out,
                                          std::vector<std::byte>& temporary);

// A small vector of any types as f32.
base::Task<base::Result<std::vector<float>>> read_vector(const formats::ModelFile& file,
                                                         const plan::VectorSpec& vector);

}  // namespace puna::engine
