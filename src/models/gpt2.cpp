// GPT-2 (Radford et al. 2019) and StarCoder (Li et al. 2023; "starcoder"), whose heads share one
// key and value: layer norms before each block, learned positions, biases everywhere, GELU.

#include "models/layer_normed.h"

namespace puna::models {

base::Result<plan::Graph> build_gpt2(const formats::ModelFile& file, const Config& c) {
  LayerNormed layers;
  PUNA_TRY(layers.eps, layer_norm_eps(file, c));
  layers.attention = [&](uint32_t l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.rope = {};
    return spec;
  };
  layers.ffn = [](plan::Builder& b, uint32_t l, plan::Value h) {
    return plain_ffn(b, l, h, kernels::Activation::kGeluTanh);
  };
  plan::Builder b(file, c.n_heads);
  PUNA_TRY(const plan::Value x, add_learned_positions(b, c, b.embed("token_embd.weight")));
  return finish_layer_normed(b, c, x, layers);
}

}  // namespace puna::models
