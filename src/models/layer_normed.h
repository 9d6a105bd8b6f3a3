// Decoders with layer norms, as GPT-2's and those after it: what their layers share, and a frame
// that each fills in.
#pragma once

#include <functional>

#include "models/blocks.h"

namespace puna::models {

// "ARCH.attention.layer_norm_epsilon". Errors: kCorrupt naming it.
base::Result<float> layer_norm_eps(const formats::ModelFile& file, const Config& c);

// "position_embd" [at least the context, hidden] added to x. Errors: kCorrupt when it is shorter.
base::Result<plan::Value> add_learned_positions(plan::Builder& b, const Config& c, plan::Value x);

// What q, k and v (plan::Builder::attention) go through before they turn.
using OnHeads = std::function<void(plan::Builder& b, uint32_t layer, plan::Value heads)>;
// Cuts them to "ARCH.attention.clamp_kqv" on either side of zero; none where the file has no such
// key or 0. Errors: kCorrupt naming it.
base::Result<OnHeads> clamp_heads(const formats::ModelFile& file, const Config& c);

struct LayerNormed {
  float eps = 1e-5f;
  // Both blocks read the layer's input, the feed-forward block by a norm of its own where the file
  // has "ffn_norm"; else it reads what attention has added to.
  bool parallel = false;
  bool has_weights = true;  // of the norms
  OnHeads on_heads = {};
  std::function<plan::AttentionSpec(uint32_t layer)> attention;
  std::function<plan::Value(plan::Builder& b, uint32_t layer, plan::Value h)> ffn;
};
// Layers over x, the last norm and the logits.
base::Result<plan::Graph> finish_layer_normed(plan::Builder& b, const Config& c, plan::Value x,
                                              const LayerNormed& layers);

}  // namespace puna::models
