// Gemma 2 (Gemma 2 report, 2024): norms before and after each block, a soft cap on the attention
// scores and on the logits, a sliding window on every other layer, GeGLU, embeddings scaled by
// sqrt(hidden). Norm weights hold 1 + w already; rotary pairs are half a head apart.

#include <fmt/format.h>

#include <cmath>

#include "models/blocks.h"
#include "models/windows.h"

namespace puna::models {

base::Result<plan::Graph> build_gemma2(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const auto windows, sliding_windows(file, c, {.tokens = 4096, .period = 2}));
  PUNA_TRY(const double softcap, file.get_float("gemma2.attn_logit_softcapping", 50.0));
  PUNA_TRY(const double final_softcap, file.get_float("gemma2.final_logit_softcapping", 30.0));
  if (!(softcap >= 0) || !(final_softcap >= 0)) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("A soft cap ({} on scores, {} on logits) is out of range.",
                                  softcap, final_softcap));
  }
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight", std::sqrt(static_cast<float>(c.hidden)));
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    // The 27B model scales by its width per head instead of its head size.
    if (c.n_layers == 46) spec.scale = 1.0f / std::sqrt(static_cast<float>(c.hidden / c.n_heads));
    spec.softcap = static_cast<float>(softcap);
    spec.window = windows[l];
    x = sandwich_layer(b, c, x, spec, kernels::Activation::kGeluTanh);
  }
  return finish_logits(b, c, x, 1.0f, static_cast<float>(final_softcap));
}

}  // namespace puna::models
