// Falcon-H1 (TII 2025): attention and a Mamba-2 layer side by side in every layer, both reading one
// norm and adding to one residual; then SwiGLU. Its many multipliers are in the file's weights
// already. Rotary pairs are half a head apart.

#include <fmt/format.h>

#include "models/mamba2_layer.h"

namespace puna::models {

base::Result<plan::Graph> build_falcon_h1(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const Mamba2Config m, mamba2_config(file, c));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    const plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    plan::Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
    x = b.add(x, mamba2_layer(b, c, m, l, h));
    x = b.add(x, b.matmul({layer_name(l, "attn_output")}, b.attention(qkv(b, l, h), spec)));
    // The file's name for this norm has no ".weight" behind it.
    h = b.rms_norm(x, fmt::format("blk.{}.ffn_norm", l), c.norm_eps);
    x = b.add(x, gated_ffn(b, l, h, kernels::Activation::kSilu));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
