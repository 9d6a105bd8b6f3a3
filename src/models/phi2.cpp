// Phi-1, 1.5 and 2 (Li et al. 2023; Javaheripi et al. 2023): attention and a feed-forward block
// with GELU side by side, both reading one layer norm; biases everywhere, on the logits too. The
// first n_rot elements of a head turn, in pairs half of n_rot apart.

#include "models/layer_normed.h"

namespace puna::models {

base::Result<plan::Graph> build_phi2(const formats::ModelFile& file, const Config& c) {
  LayerNormed layers;
  PUNA_TRY(layers.eps, layer_norm_eps(file, c));
  layers.parallel = true;
  layers.attention = [&](uint32_t l) { return attention_spec(c, l, kernels::RopePairs::kNeox); };
  layers.ffn = [](plan::Builder& b, uint32_t l, plan::Value h) {
    return plain_ffn(b, l, h, kernels::Activation::kGeluTanh);
  };
  plan::Builder b(file, c.n_heads);
  return finish_layer_normed(b, c, b.embed("token_embd.weight"), layers);
}

}  // namespace puna::models
