// Granite (IBM 2024; Granite 3): the Llama layer with four multipliers: on the embeddings, on the
// attention scores (instead of 1 / sqrt(head size)), on what a block adds to the residual stream,
// and a divisor of the logits. q and k do not turn where rope.scaling.finetuned is false.

#include "models/blocks.h"

namespace puna::models {

base::Result<plan::Graph> build_granite(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const float embedding_scale, factor(file, "granite.embedding_scale", 1.0));
  PUNA_TRY(const float residual_scale, factor(file, "granite.residual_scale", 1.0));
  PUNA_TRY(const float logit_divisor, factor(file, "granite.logit_scale", 1.0));
  PUNA_TRY(const bool turns, file.get_bool("granite.rope.scaling.finetuned", true));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight", embedding_scale);
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kAdjacent);
    PUNA_TRY(spec.scale, factor(file, "granite.attention.scale", double{spec.scale}));
    if (!turns) spec.rope.n_rot = 0;
    x = pre_norm_layer(b, c, x, spec, residual_scale);
  }
  return finish_logits(b, c, x, logit_divisor);
}

}  // namespace puna::models
