// GPT-NeoX (Black et al. 2022; Pythia, StableLM 1): layer norms and biases, q, k and v in one
// weight, GELU; attention and feed-forward block read the layer's input side by side where
// use_parallel_residual says so. The first n_rot elements of a head turn, in pairs half of n_rot
// apart.

#include "models/layer_normed.h"

namespace puna::models {

base::Result<plan::Graph> build_gptneox(const formats::ModelFile& file, const Config& c) {
  LayerNormed layers;
  PUNA_TRY(layers.eps, layer_norm_eps(file, c));
  PUNA_TRY(layers.parallel, file.get_bool("gptneox.use_parallel_residual", true));
  layers.attention = [&](uint32_t l) { return attention_spec(c, l, kernels::RopePairs::kNeox); };
  layers.ffn = [](plan::Builder& b, uint32_t l, plan::Value h) {
    return plain_ffn(b, l, h, kernels::Activation::kGeluErf);
  };
  plan::Builder b(file, c.n_heads);
  return finish_layer_normed(b, c, b.embed("token_embd.weight"), layers);
}

}  // namespace puna::models
