// OLMo (Groeneveld et al. 2024): the Llama layer with layer norms that have neither weights nor
// biases; q, k and v are cut to clamp_kqv where the file has it. Rotary pairs are adjacent.

#include "models/layer_normed.h"

namespace puna::models {

base::Result<plan::Graph> build_olmo(const formats::ModelFile& file, const Config& c) {
  LayerNormed layers;
  PUNA_TRY(layers.eps, layer_norm_eps(file, c));
  layers.has_weights = false;
  PUNA_TRY(layers.on_heads, clamp_heads(file, c));
  layers.attention = [&](uint32_t l) {
    return attention_spec(c, l, kernels::RopePairs::kAdjacent);
  };
  layers.ffn = [](plan::Builder& b, uint32_t l, plan::Value h) {
    return gated_ffn(b, l, h, kernels::Activation::kSilu);
  };
  plan::Builder b(file, c.n_heads);
  return finish_layer_normed(b, c, b.embed("token_embd.weight"), layers);
}

}  // namespace puna::models
