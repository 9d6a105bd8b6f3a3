// OLMo 2 (OLMo team 2024): no norms before a block, only after it; RMS norms over whole rows of q
// and of k; SwiGLU. OLMo 3 is the same with a sliding window on three layers of four, whose
// positions are not stretched.

#include "models/blocks.h"
#include "models/windows.h"

namespace puna::models {

base::Result<plan::Graph> build_olmo2(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const auto windows, sliding_windows(file, c, {.period = 4}));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.window = windows[l];
    if (windows[l] > 0) spec.rope = {kernels::RopePairs::kNeox, c.n_rot, c.rope_bases[l]};
    const plan::Value heads = qkv(b, l, x);
    norm_q_and_k(b, c, l, heads);
    plan::Value h = b.matmul({layer_name(l, "attn_output")}, b.attention(heads, spec));
    x = b.add(x, b.rms_norm(h, layer_name(l, "post_attention_norm"), c.norm_eps));
    h = gated_ffn(b, l, x, kernels::Activation::kSilu);
    x = b.add(x, b.rms_norm(h, layer_name(l, "post_ffw_norm"), c.norm_eps));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
