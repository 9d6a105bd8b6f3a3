// Seed-OSS (ByteDance 2025): the Llama layer with biases on q, k and v, which the builder takes
// from the file, as it does those of other products where there are any. The norm before the
// feed-forward block is called post_attention_norm. Rotary pairs are half a head apart.

#include "models/blocks.h"

namespace puna::models {

base::Result<plan::Graph> build_seed_oss(const formats::ModelFile& file, const Config& c) {
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    PUNA_TRY(spec.scale, factor(file, "seed_oss.attention.scale", double{spec.scale}));
    x = pre_norm_attention(b, c, x, spec);
    const plan::Value h = b.rms_norm(x, layer_name(l, "post_attention_norm"), c.norm_eps);
    x = b.add(x, gated_ffn(b, l, h, kernels::Activation::kSilu));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
