// EmbeddingGemma (Google 2025), which gives embeddings: Gemma 3's layer where every token sees the
// whole text, on five layers of six the tokens of a window around it, where positions turn by a
// base of their own. Two products stand behind the pooling; without an activation between them they
// are the same before it. Norm weights hold 1 + w already; rotary pairs are half a head apart.

#include <cmath>

#include "models/blocks.h"
#include "models/windows.h"

namespace puna::models {

base::Result<plan::Graph> build_gemma_embedding(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const auto windows, windows_around(file, c, {.period = 6}));
  PUNA_TRY(const float local_base, positive(file, c.architecture + ".rope.freq_base_swa", 10000.0));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight", std::sqrt(static_cast<float>(c.hidden)));
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.q_norm = layer_name(l, "attn_q_norm");
    spec.k_norm = layer_name(l, "attn_k_norm");
    spec.window = windows[l];
    if (spec.window > 0) {
      spec.rope.base = local_base;
      spec.rope.freq_scale = 1.0f;  // only global layers were stretched
    }
    x = sandwich_layer(b, c, x, spec, kernels::Activation::kGeluTanh);
  }
  x = b.rms_norm(b.select_outputs(x), "output_norm.weight", c.norm_eps);
  PUNA_TRY(x, products_behind_pooling(b, file, c, x));
  return b.finish_embeddings(x);
}

}  // namespace puna::models
