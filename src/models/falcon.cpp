// Falcon (Almazrouei et al. 2023): attention and a feed-forward block with GELU side by side,
// without biases but for those of the layer norms; q, k and v in one weight. Falcon 7B's heads
// share one key and value, and both blocks read one norm; in Falcon 40B attention has a norm of its
// own, attn_norm_2. Rotary pairs are half a head apart.

#include "models/layer_normed.h"

namespace puna::models {

base::Result<plan::Graph> build_falcon(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const float eps, layer_norm_eps(file, c));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    const std::string own = layer_name(l, "attn_norm_2");
    const plan::Value h = b.layer_norm(x, layer_name(l, "attn_norm"), eps, /*apart=*/true);
    const plan::Value heads = qkv(b, l, b.has(own) ? b.layer_norm(x, own, eps, /*apart=*/true) : h);
    const plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    x = b.add(x, b.matmul({layer_name(l, "attn_output")}, b.attention(heads, spec)));
    x = b.add(x, plain_ffn(b, l, h, kernels::Activation::kGeluErf));
  }
  return finish_normed(b, b.layer_norm(b.select_outputs(x), "output_norm.weight", eps));
}

}  // namespace puna::models
