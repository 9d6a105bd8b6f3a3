// Qwen3 mixture of experts (Yang et al. 2025): the Qwen3 attention, and in place of the
// feed-forward block experts whose weights, a softmax over all of them, are normalised over the
// chosen.

#include "models/experts.h"

namespace puna::models {

base::Result<plan::Graph> build_qwen3moe(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const kernels::RouteParams route,
           read_route(file, c, {.scores = kernels::ExpertScores::kSoftmax, .normalise = true}));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.q_norm = layer_name(l, "attn_q_norm");
    spec.k_norm = layer_name(l, "attn_k_norm");
    x = pre_norm_attention(b, c, x, spec);
    const plan::Value h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    x = b.add(x, experts(b, l, h, route));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
