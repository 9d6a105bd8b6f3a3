// StarCoder2 (Lozhkov et al. 2024) and CodeShell (Xie et al. 2024): layer norms and biases
// everywhere, grouped KV heads, a feed-forward block with GELU and without a gate; a sliding window
// on all layers where the file has one. Rotary pairs are half a head apart.

#include "models/layer_normed.h"
#include "models/windows.h"

namespace puna::models {

base::Result<plan::Graph> build_starcoder2(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const auto windows, sliding_windows(file, c, {.period = 0}));
  LayerNormed layers;
  PUNA_TRY(layers.eps, layer_norm_eps(file, c));
  layers.attention = [&](uint32_t l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.window = windows[l];
    return spec;
  };
  layers.ffn = [](plan::Builder& b, uint32_t l, plan::Value h) {
    return plain_ffn(b, l, h, kernels::Activation::kGeluTanh);
  };
  plan::Builder b(file, c.n_heads);
  return finish_layer_normed(b, c, b.embed("token_embd.weight"), layers);
}

}  // namespace puna::models
