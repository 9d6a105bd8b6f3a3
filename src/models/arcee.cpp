// Arcee's AFM (2025): the Llama layer with a feed-forward block without a gate, whose activation is
// ReLU squared. Rotary pairs are adjacent; Llama 3's frequency factors are a tensor, rope_freqs.

#include "models/blocks.h"

namespace puna::models {

base::Result<plan::Graph> build_arcee(const formats::ModelFile& file, const Config& c) {
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kAdjacent);
    PUNA_TRY(spec.scale, factor(file, "arcee.attention.scale", double{spec.scale}));
    if (b.has("rope_freqs.weight")) spec.freq_factors = "rope_freqs.weight";
    x = pre_norm_attention(b, c, x, spec);
    const plan::Value h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    x = b.add(x, plain_ffn(b, l, h, kernels::Activation::kReluSquared));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
