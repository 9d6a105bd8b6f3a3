// Nemotron-H (NVIDIA 2025; Nemotron Nano 2): layers of one block each: a Mamba-2 layer, attention
// without positions where head_count_kv is not 0, or a feed-forward block without a gate where
// feed_forward_length is not 0, whose activation is ReLU squared.

#include <fmt/format.h>

#include "models/mamba2_layer.h"

namespace puna::models {

using plan::Value;

base::Result<plan::Graph> build_nemotron_h(const formats::ModelFile& file, const Config& config) {
  Config c = config;
  if (!file.find("nemotron_h.attention.layer_norm_rms_epsilon")) {
    PUNA_TRY(c.norm_eps, positive(file, "nemotron_h.attention.layer_norm_epsilon", 1e-5));
  }
  PUNA_TRY(const Mamba2Config m, mamba2_config(file, c));
  PUNA_TRY(const auto ffn, layer_counts(file, "nemotron_h.feed_forward_length", c));
  plan::Builder b(file, c.n_heads);
  Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    const Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
    if (c.kv_heads[l] > 0) {
      plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
      PUNA_TRY(spec.scale, factor(file, "nemotron_h.attention.scale", double{spec.scale}));
      spec.rope = {};
      x = b.add(x, b.matmul({layer_name(l, "attn_output")}, b.attention(qkv(b, l, h), spec)));
    } else if (!ffn.empty() && ffn[l] > 0) {
      x = b.add(x, plain_ffn(b, l, h, kernels::Activation::kReluSquared));
    } else {
      x = b.add(x, mamba2_layer(b, c, m, l, h));
    }
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
