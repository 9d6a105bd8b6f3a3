// Builder: the words that models are written in. Each word checks shapes, appends one op, and gives
// back the new activation.
//
//   Value x = b.embed("token_embd.weight");
//   for (uint32_t l = 0; l < n_layers; ++l) {
//     Value h = b.rms_norm(x, name("attn_norm"), eps);
//     Value a = b.attention(b.matmul({name("attn_q"), name("attn_k"), name("attn_v")}, h), spec);
//     x = b.add(x, b.matmul({name("attn_output")}, a));
//   ...
// The first error sticks: later words do nothing, finish() returns it. So models read as a straight
// list.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"
#include "kernels/elementwise/binary.h"
#include "kernels/elementwise/unary.h"
#include "plan/graph.h"

namespace puna::plan {

struct Value {
  ValueId id = 0;
};

// The experts of one layer: names of their weights, and how the router chooses.
struct MoeSpec {
  std::string router;          // [n_experts, hidden]; with its bias where the file has one
  std::string selection_bias;  // [n_experts]; empty = none
  std::string gate, up, down;  // [n_experts, ffn, hidden], twice, and [n_experts, hidden, ffn]
  std::optional<Value> logits = {};  // the router's, where they are there already
  kernels::RouteParams route;
  kernels::Epilogue activation = kernels::Epilogue::kSwiGlu;  // a gated one
};

struct AttentionSpec {
  uint32_t layer = 0;
  std::optional<uint32_t> keys_of = {};  // reads keys and values of this earlier layer, has none
  uint32_t n_kv_heads = 0;
  uint32_t head_dim = 0;
  float scale = 1.0f;           // on q.k
  float softcap = 0.0f;         // on scores; 0 = none
  float max_alibi_bias = 0.0f;  // 0 = no ALiBi (kernels/attention/attention.h)
  uint32_t window = 0;          // 0 = all earlier positions
  bool chunks = false;          // the window begins anew every so many positions
  bool causal = true;           // false: every row sees all rows of its sequence in the step
  bool around = false;          // rows see those around them that Step::places says, later ones too
  std::string sinks;            // name of the heads' sinks; empty = none
  // Name of the heads' biases [buckets.n, n_heads] (kernels/attention/relative.h); empty = none.
  std::string biases;
  kernels::RelativeBuckets buckets = {};
  kernels::RopeParams rope;
  std::string q_norm, k_norm;  // names of per-head norm weights; empty = none
  bool v_norm = false;         // v heads are normed too, without a weight
  std::string freq_factors;    // name of a rope factor tensor; empty = none
  float norm_eps = 1e-6f;
};

// Attention over a compressed cache (kernels/mla/mla.h).
struct LatentSpec {
  uint32_t layer = 0;
  uint32_t n_nope = 0;    // elements of a query head that are not turned; rope.n_rot more are
  uint32_t n_latent = 0;  // elements of a cached row that are not turned
  uint32_t v_dim = 0;     // elements of a head's result
  float scale = 1.0f;
  float norm_eps = 1e-6f;
  kernels::RopeParams rope;
  std::string kv_norm;     // [n_latent]
  std::string key, value;  // [n_heads, n_latent, n_nope] and [n_heads, v_dim, n_latent]
  // In place of both: [n_heads, n_nope + v_dim, n_latent], of which the keys are turned over.
  std::string key_value;
  std::string freq_factors;  // name of a rope factor tensor; empty = none
};

// "blk.0.attn_q.weight" -> "blk.0.attn_q.bias"
std::string bias_of(std::string_view weight);

struct PartsSpec {
  kernels::NormPartsShape shape;   // n and x_stride 0 = what x has
  std::vector<std::string> gamma;  // one after the other; empty = 1
  std::string beta;                // empty = 0
  bool apart = false;
};

// Names are of tensors. Shapes are checked against the tensors; strides of inputs are filled in.
struct ConvSpec {
  uint32_t layer = 0;
  std::string weight, bias;  // bias empty = none
  uint32_t x_column = 0;
  uint32_t n_channels = 0;
  kernels::ConvForm form = kernels::ConvForm::kSilu;
};
struct SsdSpec {
  uint32_t layer = 0;
  std::string a, d, dt_bias;
  kernels::SsdShape shape;
};
struct ScanSpec {
  uint32_t layer = 0;
  std::string a, d;  // [n_channels, n_state], [n_channels]
  uint32_t z_column = 0;
};
struct DeltaSpec {
  uint32_t layer = 0;
  std::string a, dt_bias;
  kernels::DeltaShape shape;
};
// One of the mixes of a row with the one before it (kernels/shift/shift.h).
struct ShiftMix {
  std::string mix;               // [1 or more mixes, columns]
  uint32_t part = 0;             // which of them
  std::optional<Value> by = {};  // what tokens add to it: columns by_part * n .. of this
  uint32_t by_part = 0;
};
struct WkvSpec {
  uint32_t layer = 0;
  std::vector<std::string> constants;  // [columns] each, as many as the shape needs
  kernels::WkvShape shape;
};
// Attention of rows to each other.
struct OwnAttentionSpec {
  std::string label;
  uint32_t head_dim = 0;
  float scale = 1.0f;
  std::optional<Value> spans = {};  // [rows, 2]: the rows first .. end - 1 that a row sees
};
// Attention of rows to those right before them (kernels/local_attention/local_attention.h).
struct LocalAttentionSpec {
  std::string label;
  std::string gamma;    // [head_dim]
  std::string far;      // the matrix that keys of distances are made by, [n_heads * head_dim, any]
  uint32_t window = 0;  // rows that a row sees
  uint32_t head_dim = 0;
  float scale = 1.0f;
  float key_scale = 1.0f;
  float cap = 1.0f;
};
// The gate of a group norm: columns of another activation.
struct NormGate {
  Value value;
  uint32_t column = 0;
};

class Builder {
 public:
  Builder(const formats::ModelFile& file, uint32_t n_heads) : file_(file) {
    graph_.n_heads = n_heads;
  }
  // Goes on with a graph of the same file.
  Builder(const formats::ModelFile& file, Graph graph) : file_(file), graph_(std::move(graph)) {}

  // x[t] = scale * table[token t].  table [vocab, hidden]
  Value embed(std::string_view table, float scale = 1.0f);
  // x[t] += table[position t], or += table[0]; in place.
  Value add_positions(Value x, std::string_view table);
  Value add_first_row(Value x, std::string_view table);
  // x[t] += part `part` (from 1 on) of the row of media that stands at t, if one does; in place.
  Value add_media(Value x, uint32_t layer, uint32_t part);
  // [rows, n] -> the same shape.  gamma [n]
  Value rms_norm(Value x, std::string_view gamma, float eps);
  // A layer norm with gamma [n] "NAME.weight" and, where the file has it, "NAME.bias"; without a
  // name it has neither. In place unless apart.
  Value layer_norm(Value x, std::string_view gamma, float eps, bool apart = false);
  // Norms of parts of rows (kernels/norm/norm_parts.h); in place unless apart.
  Value norm_parts(Value x, const PartsSpec& spec);
  // [rows, n] -> [rows, sum of the weights' rows], side by side.  Each weight "NAME.weight" [its
  // rows, n]; where the file has a "NAME.bias" [its rows] it is added.
  Value matmul(const std::vector<std::string>& weights, Value x);
  // The products with rows 0 .. n - 1 of one weight, and with those after them; it has no bias.
  struct Parted {
    Value first, rest;
  };
  Parted matmul_parted(const std::string& weight, uint32_t n, Value x);
  // Parts of x, each by a matrix of its own. weight [n_parts, rows, columns of x / n_parts]; gives
  // [tokens, n_parts * rows]. The rows must be a multiple of 4.
  Value matmul_by_parts(const std::string& weight, uint32_t n_parts, Value x);
  // act(weight x + bias)
  Value activated(const std::string& weight, Value x, kernels::Activation activation);
  // act(gate x) * (up x).  gate, up [ffn, n], with their biases
  Value gated(std::string_view gate, std::string_view up, Value x, kernels::Activation activation);
  // The same of one weight [2 * ffn, n]: the rows of gate, then those of up.
  Value gated_halves(const std::string& gate_up, Value x, kernels::Activation activation);
  // act(gate) * up of both side by side.  [rows, 2 * n] -> [rows, n]
  Value glu(Value gate_up, kernels::Activation activation);
  // The experts of a layer (kernels/moe/moe.h). x [rows, hidden] -> the same shape. Their weights
  // "NAME.weight" may have biases "NAME.bias" [n_experts, rows].
  Value moe(Value x, const MoeSpec& spec);
  // qkv [tokens, (n_heads + 2 n_kv_heads) * head_dim] -> [tokens, n_heads * head_dim]; appends K
  // and V to the layer's cache. With keys_of it is q alone, [tokens, n_heads * head_dim].
  Value attention(Value qkv, const AttentionSpec& spec);
  // q [tokens, n_heads * (n_nope + n_rot)], kv [tokens, n_latent + n_rot] -> [tokens, n_heads *
  // v_dim]; appends kv to the layer's cache.
  Value latent_attention(Value q, Value kv, const LatentSpec& spec);
  // a + b; in place on a, which is the residual stream and must not be read as it was before.
  Value add(Value a, Value b);
  Value scale(Value x, float factor);
  Value scale(Value x, std::string_view weight);  // [1]
  // y *= columns part * n .. of x, n being the columns of y; in place.
  Value multiply(Value y, Value x, uint32_t part);
  // q, k and v side by side, and the gate of a gated attention. The weight q holds head_dim rows of
  // a head's query, then head_dim of its gate, and so on.
  struct GatedQkv {
    Value qkv, gate;
  };
  GatedQkv gated_qkv(const std::string& q, const std::string& k, const std::string& v,
                     uint32_t head_dim, Value x);
  // y * sigmoid(x), x as wide as y or one column for the whole row; in place on y, which must not
  // be read as it was before.
  Value gate(Value y, Value x);

  // Words with state for each sequence (builder_recurrent.cpp); kernels/conv, ssd, scan, delta,
  // shift and wkv say what they compute.
  Value conv(Value x, const ConvSpec& spec);
  Value ssd(Value xbc, Value in, const SsdSpec& spec);
  Value scan(Value x, Value dt, Value bc, Value in, const ScanSpec& spec);
  Value delta(Value qkv, Value in, const DeltaSpec& spec);
  // One more mix of x, which must not change until the last of them: that one `keeps` its rows in
  // the state that the first has made.
  Value shift(Value x, const ShiftMix& mix, StateId state, bool keeps = false);
  StateId shift_state(uint32_t layer, std::string_view what, Value x);
  struct Wkv {
    Value y;
    std::optional<Value> extra;
  };
  Wkv wkv(Value in, Value values, const WkvSpec& spec);
  // RMS norm of n_groups groups of x, each by itself. gamma [columns] or [columns / n_groups]
  Value group_norm(Value x, std::string_view gamma, uint32_t n_groups, float eps,
                   std::optional<NormGate> gate = {});

  // Words of encoders (builder_encoder.cpp), whose rows are no tokens.
  // An activation that the host gives with each step (Graph::takes_over).
  Value input(std::string_view label, uint32_t columns);
  // qkv [rows, 3 * n_heads * head_dim] -> [rows, n_heads * head_dim]
  Value own_attention(Value qkv, const OwnAttentionSpec& spec);
  // q, k and v [rows, n_heads * head_dim] -> the same shape. `before` [rows, any] has in its first
  // column how many rows right before each belong to it; so in own_conv().
  Value local_attention(Value q, Value k, Value v, Value before, const LocalAttentionSpec& spec);
  // Causal convolution of each channel (kernels/conv/own_conv.h). weight [columns, n_taps]
  Value own_conv(Value x, Value before, std::string_view weight);
  // min(max(x, low), high), both [1] of the file; in place unless apart.
  Value clamp(Value x, std::string_view low, std::string_view high, bool apart);
  // The same in place of parts of n columns that x is side by side, each by bounds of its own.
  Value clamp_parts(Value x, uint32_t n, const std::vector<std::string>& low,
                    const std::vector<std::string>& high);
  // Turns the first heads of a row by positions [rows, 4] of integers; in place. shape.y_stride is
  // filled in.
  Value turn(Value x, Value positions, kernels::MropeShape shape, std::string_view label);
  // Another activation of the same values, which later words in place on x leave as it is.
  Value copy(Value x);
  // [rows * n, columns] -> [rows, n * columns]: each n rows of x, side by side or (by_column) the n
  // values of each column together. Everything after the first is the head, over outputs.
  Value merge(Value x, uint32_t n, bool by_column = false);
  // [rows * n, columns] -> [rows, columns], the mean of each n rows; the head as with merge().
  Value pool(Value x, uint32_t n);
  // y = y op v, v [columns] of the file; in place.
  Value by_vector(Value y, kernels::Binary op, std::string_view v);
  // Products of one weight and one x each, side by side, activated where an activation is given.
  struct Product {
    std::string weight;
    Value x;
  };
  Value beside(const std::vector<Product>& products,
               std::optional<kernels::Activation> activation = {});

  Value softcap(Value x, float cap);
  // y = f(y), of kernels/elementwise/unary.h; in place.
  Value unary(Value y, kernels::Unary function, std::array<float, 4> with = {});
  // [rows, n] -> [rows, 1], the largest of each row.
  Value row_max(Value x);
  // Everything after this runs only on rows whose logits are wanted.
  Value select_outputs(Value x);
  // Declares the logits and ends the model. Errors: the first that any word met: kNotFound
  // (tensor), kCorrupt (shape).
  base::Result<Graph> finish(Value logits);
  // The same of a model that gives embeddings, [outputs, any].
  base::Result<Graph> finish_embeddings(Value x);

  bool has(std::string_view tensor) const { return file_.find_tensor(tensor) != nullptr; }
  // Rows of a tensor, 0 where the file has none of this name.
  uint64_t rows_of_tensor(std::string_view tensor) const {
    const formats::Tensor* const found = file_.find_tensor(tensor);
    return found ? found->rows() : 0;
  }

 private:
  uint32_t columns(Value v) const { return graph_.values[v.id].columns; }
  Rows rows_of(Value v) const { return graph_.values[v.id].rows; }
  Value make(std::string_view label, uint32_t columns, Rows rows);
  void fail(base::ErrorCode code, std::string message);
  // The tensor's position, checked to be [rows (0 = any), columns]; none after an error.
  std::optional<uint32_t> matrix(std::string_view name, uint32_t rows, uint32_t columns);
  uint32_t expert_rows(std::string_view name, uint32_t n_experts);
  std::optional<WeightSpec> heads_weight(std::string_view name, uint32_t rows, uint32_t columns);
  void by_heads(std::optional<WeightSpec> spec, Value x, uint32_t x_stride, Value y,
                uint32_t y_stride);
  struct LatentWeights {
    std::optional<WeightSpec> key, value;
  };
  LatentWeights latent_weights(const LatentSpec& spec);
  std::optional<VectorId> expert_bias(const std::vector<std::string>& weights, uint32_t n_experts);
  void check_tensor_scale(std::string_view name);
  std::optional<VectorId> vector(std::string_view name, uint32_t n);
  std::optional<VectorId> vectors(const std::vector<std::string>& names, uint32_t n);
  VectorId vector(VectorSpec spec);
  std::optional<VectorId> biases_by_distance(const AttentionSpec& spec);
  Value look_up(std::string_view table, float scale, kernels::EmbedRow row,
                std::optional<Value> out);
  // The same for a tensor of n elements in any shape.
  std::optional<VectorId> elements(std::string_view name, uint64_t n);
  // The number of each tensor [1] in turn, n times.
  std::optional<VectorId> bounds(const std::vector<std::string>& names, uint32_t n);
  StateId state(uint32_t layer, std::string_view what, uint64_t n);
  WeightId weight(WeightSpec spec);
  bool gates_in_epilogue(std::string_view weight, uint32_t ffn, kernels::Activation activation);
  void gated_product(WeightSpec spec, Value x, Value y, kernels::Activation activation);

  const formats::ModelFile& file_;
  Graph graph_;
  std::optional<base::Error> error_;
};

}  // namespace puna::plan
