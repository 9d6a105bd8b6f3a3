// What the ops of a graph work on: activations, weights, small vectors, caches and states, each by
// its index in the Graph (graph.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/attention/relative.h"
#include "kernels/common/call.h"
#include "kernels/local_attention/local_attention.h"
#include "kernels/mrope/mrope.h"
#include "kernels/rope/rope.h"
#include "quant/quant.h"

namespace puna::plan {

using kernels::Rows;

// An activation: [rows, columns] f32, rows being the step's tokens or its outputs. Index into
// Graph::values.
using ValueId = uint32_t;
struct ValueInfo {
  std::string label;
  uint32_t columns = 0;
  Rows rows = Rows::kTokens;
};

// How the rows of a fused weight come from tensors of the file.
enum class RowOrder : uint8_t {
  kConcatenated,  // all rows of the first tensor, then of the second, ...
  kInterleaved4,  // 4 rows of the first, 4 of the second, 4 of the first ... (gate and up; equal
                  // row counts)
  kHalvesInterleaved4,  // the same of the two halves of one tensor
  kEvenBlocks,          // blocks 0, 2, 4 ... of one tensor, of WeightSpec::block_rows each
  kOddBlocks,           // blocks 1, 3, 5 ...
  kRowsFrom,            // rows from WeightSpec::block_rows on, of one tensor
  // One tensor has, for each of n_parts heads, block_rows rows of keys and behind them rows of
  // values.
  kHeadKeysTurned,  // the keys of each head, turned over: its matrix [columns, block_rows]
  kHeadValues,      // the values of each head
};
constexpr bool is_interleaved(RowOrder order) {
  return order == RowOrder::kInterleaved4 || order == RowOrder::kHalvesInterleaved4;
}

// A weight matrix as the plan wants it on the device. Index into Graph::weights.
using WeightId = uint32_t;
struct WeightSpec {
  std::string label;
  quant::Type type = quant::Type::kF32;
  uint32_t rows = 0;
  uint32_t columns = 0;
  std::vector<uint32_t> tensors;  // positions in ModelFile::tensors
  RowOrder order = RowOrder::kConcatenated;
  uint32_t n_parts = 1;  // matrices of equal size, one after the other; chunks hold whole ones
  uint32_t block_rows = 0;
};

// A small f32 vector (norm weights, biases, rope factors) of the elements of its tensors. Index
// into Graph::vectors.
using VectorId = uint32_t;
struct VectorSpec {
  std::string label;
  std::vector<uint32_t> tensors;  // positions in ModelFile::tensors
  uint32_t n = 0;
  RowOrder order = RowOrder::kConcatenated;  // of elements; kInterleaved4 of two tensors
  // The elements are kernels::relative_biases() of one tensor [buckets.n, heads].
  std::optional<kernels::RelativeBuckets> buckets = {};
  // The elements are kernels::relative_keys() of one tensor, a matrix.
  std::optional<kernels::RelativeKeys> keys = {};
  // An infinite element, which bounds nothing, is read as the largest number: WGSL need not know
  // infinities.
  bool bounds = false;
};

// What a layer remembers of a sequence instead of keys and values: one slot of n f32 for each
// sequence. Index into Graph::states.
using StateId = uint32_t;
struct StateSpec {
  std::string label;
  uint64_t n = 0;
};

// Heads of one layer's cache; the number of pages and the element type are the engine's choice.
struct KvSpec {
  uint32_t n_kv_heads = 0;
  uint32_t head_dim = 0;
  bool v_in_k = false;  // values are part of the keys: there is no V
  uint32_t window = 0;  // who reads the layer sees so many positions at most; 0 = all
};

// What a kernel reads as one slice of constants: vectors, one after the other in f32, the table of
// a rope, whose frequency factors `vectors` then holds, if any, or that of a rope of several
// coordinates.
struct Constant {
  std::vector<VectorId> vectors;
  std::optional<kernels::RopeParams> table = {};
  std::optional<kernels::MropeShape> sections = {};
  bool operator==(const Constant&) const = default;
};

}  // namespace puna::plan
