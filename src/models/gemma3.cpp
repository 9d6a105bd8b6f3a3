// Gemma 3 text (Gemma 3 Technical Report, 2025): norms before and after each block, per-head q/k
// norms, five sliding-window layers with a local rope base to one global layer, GeGLU, embeddings
// scaled by sqrt(hidden). Norm weights hold 1 + w already; rotary pairs are half a head apart.

#include <fmt/format.h>

#include <cmath>

#include "models/blocks.h"
#include "models/windows.h"

namespace puna::models {

base::Result<plan::Graph> build_gemma3(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const auto windows, sliding_windows(file, c, {.period = 6}));
  PUNA_TRY(const float local_base, positive(file, "gemma3.rope.freq_base_swa", 10000.0));
  PUNA_TRY(const double final_softcap, file.get_float("gemma3.final_logit_softcapping", 0.0));
  if (!(final_softcap >= 0)) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The soft cap of {} on logits is out of range.", final_softcap));
  }
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight", std::sqrt(static_cast<float>(c.hidden)));
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    // The 27B model scales by its width per head instead of its head size.
    if (c.n_layers == 62) spec.scale = 1.0f / std::sqrt(static_cast<float>(c.hidden / c.n_heads));
    spec.q_norm = layer_name(l, "attn_q_norm");
    spec.k_norm = layer_name(l, "attn_k_norm");
    spec.window = windows[l];
    spec.around = c.media;  // rows of a picture see all of it, in layers with windows too
    if (spec.window > 0) {
      spec.rope.base = local_base;
      spec.rope.freq_scale = 1.0f;  // only global layers were stretched
    }
    x = sandwich_layer(b, c, x, spec, kernels::Activation::kGeluTanh);
  }
  return finish_logits(b, c, x, 1.0f, static_cast<float>(final_softcap));
}

}  // namespace puna::models
