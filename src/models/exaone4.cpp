// EXAONE 4 (LG AI Research 2025): no norms before a block, only after it; an RMS norm of every q
// and k head; SwiGLU. The larger model has a sliding window on three layers of four, and the
// fourth, which sees everything, has no positions. Rotary pairs are half a head apart.

#include <algorithm>

#include "models/blocks.h"
#include "models/windows.h"

namespace puna::models {

base::Result<plan::Graph> build_exaone4(const formats::ModelFile& file, const Config& c) {
  // Files of the larger model may leave the window out.
  constexpr uint32_t kLayersOfLarger = 64;
  const uint64_t usual = c.n_layers == kLayersOfLarger ? 4096 : 0;
  PUNA_TRY(const auto windows, sliding_windows(file, c, {.tokens = usual, .period = 4}));
  const bool has_windows = std::ranges::max(windows) > 0;
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.q_norm = layer_name(l, "attn_q_norm");
    spec.k_norm = layer_name(l, "attn_k_norm");
    spec.window = windows[l];
    if (has_windows && windows[l] == 0) {
      spec.rope.n_rot = 0;
    } else if (b.has("rope_freqs.weight")) {
      spec.freq_factors = "rope_freqs.weight";
    }
    plan::Value h = b.matmul({layer_name(l, "attn_output")}, b.attention(qkv(b, l, x), spec));
    x = b.add(x, b.rms_norm(h, layer_name(l, "post_attention_norm"), c.norm_eps));
    h = gated_ffn(b, l, x, kernels::Activation::kSilu);
    x = b.add(x, b.rms_norm(h, layer_name(l, "post_ffw_norm"), c.norm_eps));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
