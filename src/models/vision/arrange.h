// Tensors of an mmproj file as the matrices that graphs multiply by: kernels of convolutions
// unfolded, matrices transposed, rows put in another order. Read lazily, where the type allows it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"
#include "formats/tensor_view.h"

namespace puna::models {

// A number of a key, 1 to `limit`. Errors: kCorrupt naming the key and the limit.
base::Result<uint32_t> bounded(const std::string& key, uint64_t value, uint64_t limit);

// The tensor, where the file has it, with as many elements in another shape. Errors: kCorrupt with
// both shapes.
base::Result<void> reshape_tensor(formats::ModelFile& file, const std::string& name,
                                  std::vector<uint64_t> shape);

// What a view moves: whole rows, which any type allows, or single elements.
enum class Moves : uint8_t { kRows, kElements };
// The tensor, where the file has it, seen as `change` makes it, in this shape. Errors: kCorrupt
// naming the tensor and its shape; kUnsupported for elements of a block type.
base::Result<void> view_tensor(formats::ModelFile& file, const std::string& name,
                               std::vector<uint64_t> shape, Moves moves,
                               const std::function<void(formats::Strided&)>& change);

// The tensor, where the file has it, with the second half of its rows before the first. Errors:
// kCorrupt naming the tensor and its shape, where its rows are odd.
base::Result<void> swap_row_halves(formats::ModelFile& file, const std::string& name);

// Columns behind those of the weight: the bias, and zeros up to a whole vector.
constexpr uint32_t kBiasColumns = 4;
// Makes weight [rows, columns in any shape] and bias [rows] one tensor of f32, [rows, columns +
// kBiasColumns], called "NAME.unfolded.weight" of a weight "NAME.weight".
base::Result<void> append_bias_column(formats::ModelFile& file, const std::string& weight,
                                      const std::string& bias, uint64_t rows, uint64_t columns);

// Makes the weight [rows, columns in any shape] a tensor of f32 with columns of zeros behind its
// own, [rows, columns + n_zeros].
base::Result<void> append_zero_columns(formats::ModelFile& file, const std::string& name,
                                       uint64_t rows, uint64_t columns, uint64_t n_zeros);

}  // namespace puna::models
