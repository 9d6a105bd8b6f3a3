// OLMoE (Muennighoff et al. 2024): the Llama layer with RMS norms over whole rows of q and of k,
// and in place of the feed-forward block experts whose weights are a softmax over all of them.
// Rotary pairs are half a head apart.

#include "models/experts.h"

namespace puna::models {

base::Result<plan::Graph> build_olmoe(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const kernels::RouteParams route, read_route(file, c, {}));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
    const plan::Value heads = qkv(b, l, h);
    norm_q_and_k(b, c, l, heads);
    const plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    x = b.add(x, b.matmul({layer_name(l, "attn_output")}, b.attention(heads, spec)));
    h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    x = b.add(x, experts(b, l, h, route));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
