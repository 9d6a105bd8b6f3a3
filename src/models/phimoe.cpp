// Phi-3.5-MoE (Abdin et al. 2024): layer norms with biases, biases on attention and the logits
// where the file has them, and experts that a sparse mixer weighs (kernels/moe/route.h); positions
// are stretched by LongRoPE's factors, of which those for long texts count where the model is
// loaded for more than the original context. Rotary pairs are half a head apart.

#include "models/experts.h"
#include "models/layer_normed.h"

namespace puna::models {

base::Result<plan::Graph> build_phimoe(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const kernels::RouteParams route,
           read_route(file, c, {.scores = kernels::ExpertScores::kSparseMixer}));
  LayerNormed layers;
  layers.eps = c.norm_eps;  // its files have the key of RMS norms
  plan::Builder b(file, c.n_heads);
  layers.attention = [&](uint32_t l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    if (b.has("rope_factors_long.weight")) {
      const bool is_long = c.planned_context > c.original_context;
      spec.freq_factors = is_long ? "rope_factors_long.weight" : "rope_factors_short.weight";
    }
    return spec;
  };
  layers.ffn = [&](plan::Builder& into, uint32_t l, plan::Value h) {
    return experts(into, l, h, route);
  };
  return finish_layer_normed(b, c, b.embed("token_embd.weight"), layers);
}

}  // namespace puna::models
