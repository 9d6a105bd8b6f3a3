// Graph: what a model computes for one step, as a flat list of ops over symbolic rows.
// Class-independent: the number of rows of a batch class enters only in memory planning and
// lowering. Read next: builder.h (how models write it), fuse.h, memory.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/common/call.h"
#include "kernels/conv/conv.h"
#include "kernels/delta/delta.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/embed/embed.h"
#include "kernels/group_norm/group_norm.h"
#include "kernels/matmul/matmul.h"
#include "kernels/mla/mla.h"
#include "kernels/moe/moe.h"
#include "kernels/norm/norm_parts.h"
#include "kernels/rope/rope.h"
#include "kernels/ssd/ssd.h"
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
};

// What a layer remembers of a sequence instead of keys and values: one slot of n f32 for each
// sequence. Index into Graph::states.
using StateId = uint32_t;
struct StateSpec {
  std::string label;
  uint64_t n = 0;
};

struct EmbedOp {
  WeightId weight;
  ValueId out;
  float scale = 1.0f;
  kernels::EmbedRow row = kernels::EmbedRow::kToken;
  bool add = false;
};
// The roles of kernels/norm/norm.h.
struct NormOp {
  std::string label;
  ValueId x;
  std::optional<VectorId> post_gamma;
  std::optional<ValueId> residual;  // updated in place
  std::optional<VectorId> gamma;
  std::optional<ValueId> y;
  float eps = 1e-6f;
  std::optional<VectorId> scale = {};  // [1], of the residual
};
// kernels/norm/norm_parts.h: in place, or y apart.
struct NormPartsOp {
  std::string label;
  ValueId x;
  std::optional<ValueId> y;
  std::optional<VectorId> gamma, beta;
  kernels::NormPartsShape shape;
};
struct MatmulOp {
  std::string label;
  WeightId weight;
  ValueId x;
  ValueId y;
  uint32_t y_column = 0;
  kernels::Epilogue epilogue = kernels::Epilogue::kStore;
  float softcap = 0.0f;
  float scale = 1.0f;
  std::optional<VectorId> bias = {};
  kernels::Activation activation = kernels::Activation::kSilu;  // of kActivate
  bool shares_x = false;  // the op before is a product with the same x: its int8 form may be reused
  // What x is made of, when that is a plain norm right before its readers, all of them products; a
  // product may then make it itself.
  std::optional<NormOp> x_norm = {};
  // The op after is such a norm, of what this product adds up to; it may then hand over the norm's
  // y (kernels/matmul/matmul.h).
  std::optional<NormOp> y_norm = {};
  bool feeds_next = false;  // the op after is a product, and the only reader of y
};
struct RopeOp {
  std::string label;
  uint32_t layer;
  ValueId qkv;
  ValueId q;
  std::optional<VectorId> q_norm, k_norm, freq_factors;
  float norm_eps = 1e-6f;
  kernels::RopeParams rope;
  bool v_norm = false;
  bool appends = true;  // false: qkv holds q heads only, `layer` is whose keys are read
};
struct AttentionOp {
  std::string label;
  uint32_t layer;
  ValueId q;
  ValueId out;
  float scale = 1.0f;
  float softcap = 0.0f;
  uint32_t window = 0;
  bool causal = true;
  std::optional<VectorId> sinks = {};  // [n_heads]
  uint32_t v_dim = 0;                  // 0 = the cache's head_dim
  // The op right before, when q comes from it: a step of one row may do its work here.
  std::optional<RopeOp> append = {};
};
struct GatherOp {
  ValueId x;  // rows of tokens
  ValueId y;  // rows of outputs
};
struct AddOp {
  std::string label;
  ValueId x;
  ValueId y;  // y += x
};
struct ScaleOp {
  std::string label;
  ValueId y;
  float scale = 1.0f;
  std::optional<VectorId> by = {};  // [1], instead of scale
};
struct MultiplyOp {
  std::string label;
  ValueId x;
  ValueId y;  // y *= part of x
  uint32_t part = 0, n_parts = 1;
};
struct SoftcapOp {
  std::string label;
  ValueId y;
  float cap = 0.0f;
};
struct GluOp {
  std::string label;
  ValueId gate_up;
  ValueId y;
  kernels::Activation activation;
};
// y[t, h] = W[h] x[t, h]: a matrix for each query head. The weight has n_heads of them.
struct HeadsOp {
  std::string label;
  WeightId weight;
  ValueId x;  // [tokens, n_heads * x_stride], of which a head's first elements are read
  ValueId y;  // [tokens, n_heads * y_stride], of which a head's first elements are written
  uint32_t x_stride = 0;
  uint32_t y_stride = 0;
};
// The role of kernels/mla/mla.h; q_out's other part is a HeadsOp's before it.
struct LatentOp {
  std::string label;
  uint32_t layer;
  kernels::MlaShape shape;
  ValueId q;
  ValueId kv;
  ValueId q_out;
  VectorId gamma;
};
// The role of kernels/moe/moe.h.
struct MoeOp {
  std::string label;
  kernels::MoeShape shape;
  ValueId logits;  // of the router
  ValueId x;
  ValueId y;
  bool adds = false;  // y += the experts' sum
  WeightId gate_up;
  WeightId down;
  std::optional<VectorId> selection_bias, gate_up_bias, down_bias;
};
// y *= sigmoid(x); x has y's columns, or one for the whole row.
struct GateOp {
  std::string label;
  ValueId x;
  ValueId y;
};
// The roles of kernels/conv, ssd and delta, which keep state, and of kernels/group_norm.
struct ConvOp {
  std::string label;
  StateId state;
  ValueId x;
  ValueId y;
  VectorId weights;
  std::optional<VectorId> bias;
  kernels::ConvShape shape;
};
struct SsdOp {
  std::string label;
  StateId state;
  ValueId xbc;
  ValueId in;
  ValueId y;
  VectorId a, d, dt_bias;
  kernels::SsdShape shape;
};
struct DeltaOp {
  std::string label;
  StateId state;
  ValueId qkv;
  ValueId in;
  ValueId y;
  VectorId a, dt_bias;
  kernels::DeltaShape shape;
};
struct GroupNormOp {
  std::string label;
  ValueId x;
  std::optional<ValueId> gate;
  ValueId y;
  VectorId gamma;
  kernels::GroupNormShape shape;
};
using Op = std::variant<EmbedOp, NormOp, MatmulOp, RopeOp, AttentionOp, GatherOp, AddOp, ScaleOp,
                        SoftcapOp, GluOp, MoeOp, HeadsOp, LatentOp, NormPartsOp, MultiplyOp, GateOp,
                        ConvOp, SsdOp, DeltaOp, GroupNormOp>;

// Heads of one layer's cache; the number of pages and the element type are the engine's choice.
struct KvSpec {
  uint32_t n_kv_heads = 0;
  uint32_t head_dim = 0;
  bool v_in_k = false;  // values are part of the keys: there is no V
};

struct Graph {
  std::vector<ValueInfo> values;
  std::vector<WeightSpec> weights;
  std::vector<VectorSpec> vectors;
  std::vector<KvSpec> kv;  // by layer; a layer without attention has no heads
  std::vector<StateSpec> states;
  uint32_t n_heads = 0;  // query heads, the same in every layer
  uint32_t vocab = 0;
  std::vector<Op> ops;
  size_t head_begin = 0;  // ops from here on, a gather first, run once per group of outputs
  ValueId hidden = 0;     // what the body leaves for the head
  ValueId logits = 0;     // [outputs, vocab]
  // Parts of a model on another device (split.h): values that are the result instead of logits, and
  // values that come from the part before.
  std::vector<ValueId> hands_over, takes_over;
  bool embeds = false;  // `logits` are embeddings instead, [outputs, n_out()]
  uint32_t n_out() const { return values[logits].columns; }
};

// "blk.3.ffn_down"; ops without a label of their own are called by what they do.
std::string label(const Op& op);

// Planes of int8 in which a product reads its activations (kernels/matmul/matmul.h) where numerics
// are fast: 2 for rows whose logits are wanted. Nothing after those products evens their rounding
// out, and the rows are few (docs/numerics.md). The CPU has another way for the last of them.
uint32_t x_planes(const Graph& graph, const MatmulOp& op);

// Values an op reads and writes; one that it updates in place is in both.
std::vector<ValueId> reads(const Op& op);
std::vector<ValueId> writes(const Op& op);
// Weights that an op multiplies by or looks up in.
std::vector<WeightId> weights(const Op& op);

}  // namespace puna::plan
