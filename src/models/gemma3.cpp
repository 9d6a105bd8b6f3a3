// Gemma 3 text (Gemma 3 Technical Report, 2025): norms before and after each block, per-head q/k
// norms, five sliding-window layers with a local rope base to one global layer, GeGLU, embeddings
// scaled by sqrt(hidden). Norm weights hold 1 + w already; rotary pairs are half a head apart.

#include <fmt/format.h>

#include <cmath>

#include "models/blocks.h"

namespace puna::models {

base::Result<plan::Graph> build_gemma3(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const uint64_t window, file.get_uint("gemma3.attention.sliding_window", 0));
  PUNA_TRY(const uint64_t pattern, file.get_uint("gemma3.attention.sliding_window_pattern", 6));
  PUNA_TRY(const double local_base, file.get_float("gemma3.rope.freq_base_swa", 10000.0));
  PUNA_TRY(const double final_softcap, file.get_float("gemma3.final_logit_softcapping", 0.0));
  if (window > UINT32_MAX || pattern == 0 || !(local_base > 0) || !(final_softcap >= 0)) {
    return base::fail(
        base::ErrorCode::kCorrupt,
        fmt::format(
            "The sliding window ({} tokens, every {} layers, rope base {}) or the soft cap ({}) is "
            "out of range.",
            window, pattern, local_base, final_softcap));
  }
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight", std::sqrt(static_cast<float>(c.hidden)));
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    const bool local = window > 0 && (l + 1) % pattern != 0;
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    // The 27B model scales by its width per head instead of its head size.
    if (c.n_layers == 62) spec.scale = 1.0f / std::sqrt(static_cast<float>(c.hidden / c.n_heads));
    spec.q_norm = layer_name(l, "attn_q_norm");
    spec.k_norm = layer_name(l, "attn_k_norm");
    if (local) {
      spec.window = static_cast<uint32_t>(window);
      spec.rope.base = static_cast<float>(local_base);
      spec.rope.freq_scale = 1.0f;  // only global layers were stretched
    }
    x = sandwich_layer(b, c, x, spec);
  }
  return finish_logits(b, c, x, 1.0f, static_cast<float>(final_softcap));
}

}  // namespace puna::models
