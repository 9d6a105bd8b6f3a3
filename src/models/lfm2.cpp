// LFM2 (Liquid AI 2025): most layers mix tokens by a short convolution between two gates, some by
// attention with an RMS norm of every q and k head; head_count_kv says which, 0 being a
// convolution. SwiGLU in every layer. The final norm is called token_embd_norm. Rotary pairs are
// half a head apart.

#include "models/blocks.h"

namespace puna::models {

base::Result<plan::Graph> build_lfm2(const formats::ModelFile& file, const Config& c) {
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
    if (c.kv_heads[l] == 0) {
      plan::ConvSpec spec;
      spec.layer = l;
      spec.weight = layer_name(l, "shortconv.conv");
      spec.n_channels = c.hidden;
      spec.form = kernels::ConvForm::kGated;
      h = b.conv(b.matmul({layer_name(l, "shortconv.in_proj")}, h), spec);
      h = b.matmul({layer_name(l, "shortconv.out_proj")}, h);
    } else {
      plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
      spec.q_norm = layer_name(l, "attn_q_norm");
      spec.k_norm = layer_name(l, "attn_k_norm");
      h = b.matmul({layer_name(l, "attn_output")}, b.attention(qkv(b, l, h), spec));
    }
    x = b.add(x, h);
    h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    x = b.add(x, gated_ffn(b, l, h, kernels::Activation::kSilu));
  }
  return finish_logits(b, c, x, 1.0f, 0.0f, "token_embd_norm.weight");
}

}  // namespace puna::models
