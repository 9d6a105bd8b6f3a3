// Phi-3 (Abdin et al. 2024; Phi-3.5, Phi-4-mini): the Llama layer with q, k and v in one weight,
// and gate and up in another. Long-context models turn by LongRoPE's factors (Ding et al. 2024): a
// set for texts within the original context and one for longer ones. Which of them counts is fixed
// when the model is loaded, by the context it is loaded for, since keys in the cache stay as they
// were turned.

#include "models/blocks.h"
#include "models/windows.h"

namespace puna::models {

base::Result<plan::Graph> build_phi3(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const auto windows, sliding_windows(file, c, {.period = 0}));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  const bool is_long = c.planned_context > c.original_context;
  const char* factors = is_long ? "rope_factors_long.weight" : "rope_factors_short.weight";
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.window = windows[l];
    if (b.has("rope_factors_long.weight")) spec.freq_factors = factors;
    x = pre_norm_layer(b, c, x, spec);
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
