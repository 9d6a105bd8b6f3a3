// Llama (Touvron et al. 2023; Llama 3.2, SmolLM2) and Mixtral (Jiang et al. 2024), which has
// experts in place of the feed-forward block, weighed by a softmax over the chosen: pre-norm,
// rotary attention with grouped KV heads, SwiGLU. The converter stores q and k rows so that rotary
// pairs are adjacent; Llama 3's frequency factors are a tensor, rope_freqs. InternLM2 (Cai et al.
// 2024) is the same layer.

#include "models/experts.h"

namespace puna::models {

base::Result<plan::Graph> build_llama(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const kernels::RouteParams route,
           read_route(file, c, {.scores = kernels::ExpertScores::kSoftmaxOfChosen}));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kAdjacent);
    if (b.has("rope_freqs.weight")) spec.freq_factors = "rope_freqs.weight";
    if (route.n_experts == 0) {
      x = pre_norm_layer(b, c, x, spec);
      continue;
    }
    x = pre_norm_attention(b, c, x, spec);
    const plan::Value h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    x = b.add(x, experts(b, l, h, route));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
