// Jamba (AI21 2024): Mamba layers with RMS norms of what dt is made of, of B and of C, and among
// them layers of attention without positions (head_count_kv says which, 0 being Mamba); in every
// layer a feed-forward block with SwiGLU, or experts where the layer has a router, weighed by a
// softmax over all of them.

#include "models/experts.h"
#include "models/mamba_layer.h"

namespace puna::models {

using plan::Value;

base::Result<plan::Graph> build_jamba(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const MambaConfig m, mamba_config(file, c));
  PUNA_TRY(const kernels::RouteParams route, read_route(file, c, {}));
  plan::Builder b(file, c.n_heads);
  Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
    if (c.kv_heads[l] == 0) {
      h = mamba_layer(b, m, l, h);
    } else {
      plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
      spec.rope = {};
      h = b.matmul({layer_name(l, "attn_output")}, b.attention(qkv(b, l, h), spec));
    }
    x = b.add(x, h);
    h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    const bool routed = b.has(layer_name(l, "ffn_gate_inp"));
    x = b.add(x, routed ? experts(b, l, h, route) : gated_ffn(b, l, h, kernels::Activation::kSilu));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
