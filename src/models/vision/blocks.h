// What encoders share: their inputs, and the blocks of a vision transformer in builder words, by
// the tensor names that GGUF gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/vision/encoder.h"
#include "plan/builder.h"

namespace puna::models {

// "v.blk.3.attn_q.weight"
std::string encoder_name(const EncoderConfig& c, uint32_t layer, std::string_view part);

// The inputs of a graph of pictures, in the order in which encoder_rows() gives their values.
struct PictureInputs {
  plan::Value x;  // the projected patches, with what is added to them
  std::optional<plan::Value> positions, spans;
};
PictureInputs picture_inputs(plan::Builder& b, const EncoderConfig& c);

// How a block is built, beyond what its tensors tell.
struct EncoderBlock {
  float scale = 0;                       // on q.k; 0 = 1 / sqrt(head_dim)
  std::optional<plan::Value> spans;      // rows that each row sees
  std::optional<plan::Value> positions;  // turns q and k by these
  kernels::MropeShape rope;              // without heads
  bool v_norm = false;                   // v heads are normed, without a weight
};

// x + attention(norm(x)), then x + ffn(norm(x)). Norms are layer norms where they have a bias, else
// RMS norms; heads are normed, branches normed or scaled where there are tensors for it; the FFN is
// gated where there is a gate.
plan::Value encoder_block(plan::Builder& b, const EncoderConfig& c, uint32_t layer, plan::Value x,
                          const EncoderBlock& block);

// A layer norm or an RMS norm, in a value of its own.
plan::Value encoder_norm(plan::Builder& b, plan::Value x, const std::string& weight, float eps);

// Rope of two coordinates over whole heads, the first half of the pairs by row.
kernels::MropeShape grid_rope(const EncoderConfig& c, kernels::RopePairs pairs,
                              kernels::SectionOrder order, float base);

// x within the bounds that the file has for what goes into a product or comes out of it, "a.blk.3.
// ffn_up.input_min" of "a.blk.3.ffn_up.weight" and so on, if it has any; in place unless apart.
enum class Side : uint8_t { kInput, kOutput };
plan::Value within_bounds(plan::Builder& b, plan::Value x, std::string_view weight, Side side,
                          bool apart = false);
// The product by a weight within its bounds. x may change, unless it `stays`.
plan::Value bounded_product(plan::Builder& b, const std::string& weight, plan::Value x,
                            bool stays = false);

// y = second(gelu(first x)).
plan::Value gelu_mlp(plan::Builder& b, const std::string& first, const std::string& second,
                     plan::Value x);

}  // namespace puna::models
