// The frame that models of RWKV share: layer norms, and layers of a time mix, which has state, and
// a channel mix in place of a feed-forward block. Each of both looks at a row and the one before
// it.
#pragma once

#include <functional>
#include <initializer_list>

#include "models/blocks.h"

namespace puna::models {

struct RwkvConfig {
  float norm_eps = 1e-5f;
  uint32_t head_dim = 0;
  uint32_t n_heads = 0;  // head_dim * n_heads = hidden
};
// Errors: kNotFound, kCorrupt naming the key; kUnsupported for a layer that does not look back
// twice
// ("token_shift_count").
base::Result<RwkvConfig> rwkv_config(const formats::ModelFile& file, const Config& c);

// How many rows a tensor of each layer that has it must have: what lies side by side, or part by
// part, is read by its place.
struct RowsOfTensor {
  std::string_view name;  // "time_mix_key"
  uint64_t rows = 0;
};
// Errors: kCorrupt naming the tensor.
base::Result<void> check_rows(const formats::ModelFile& file, const Config& c,
                              std::initializer_list<RowsOfTensor> wanted);

struct RwkvLayers {
  // h [tokens, hidden] -> what is added to the residual stream, of the same shape.
  std::function<plan::Value(plan::Builder& b, uint32_t layer, plan::Value h)> time_mix, channel_mix;
  uint32_t halved_every = 0;  // so many layers the stream is halved; 0 = never
};
// The whole model.
base::Result<plan::Graph> finish_rwkv(plan::Builder& b, const Config& c, const RwkvConfig& rwkv,
                                      const RwkvLayers& layers);

// A layer norm of each head of y, in place: "time_mix_ln" with its bias.
void norm_heads(plan::Builder& b, const RwkvConfig& rwkv, uint32_t layer, plan::Value y);

}  // namespace puna::models
