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

// Fills `out` with rows [first_row, first_row + n_rows) of the weight in their file layout, fused rows in destination order.
// For interleaved weights first_row and n_rows are multiples of 8 (or reach the end). `temporary` is reused between calls.
// Errors: those of ByteSource::read, naming the tensor.
base::Task<base::Result<void>> read_rows(const formats::ModelFile& file, const plan::WeightSpec& weight, uint32_t first_row,
                                         uint32_t n_rows, std::span<std::byte> out, std::vector<std::byte>& temporary);

// A small vector of any type as f32.
base::Task<base::Result<std::vector<float>>> read_vector(const formats::ModelFile& file, const plan::VectorSpec& vector);

}  // namespace puna::engine
