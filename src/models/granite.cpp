// Granite (IBM 2024; Granite 3): the Llama layer with four multipliers: on the embeddings, on the
// attention scores (instead of 1 / sqrt(head size)), on what a block adds to the residual stream,
// and a divisor of the logits. q and k do not turn where rope.scaling.finetuned is false.
// "granitemoe": experts in place of the feed-forward block, by a softmax over the chosen, beside a
// shared one where the file has it. MiniCPM (Hu et al. 2024) is the same with a multiplier on the
// embeddings, one by depth on the residual stream and a divisor by width.

#include <cmath>

#include "models/experts.h"

namespace puna::models {

namespace {

struct Multipliers {
  double embedding = 1.0, residual = 1.0, logit_divisor = 1.0;  // where the file has none
};

base::Result<plan::Graph> build(const formats::ModelFile& file, const Config& c,
                                const Multipliers& usual) {
  const std::string p = c.architecture + ".";
  PUNA_TRY(const float embedding_scale, factor(file, p + "embedding_scale", usual.embedding));
  PUNA_TRY(const float residual_scale, factor(file, p + "residual_scale", usual.residual));
  PUNA_TRY(const float logit_divisor, factor(file, p + "logit_scale", usual.logit_divisor));
  PUNA_TRY(const bool turns, file.get_bool(p + "rope.scaling.finetuned", true));
  PUNA_TRY(const kernels::RouteParams route,
           read_route(file, c, {.scores = kernels::ExpertScores::kSoftmaxOfChosen}));
  plan::Builder b(file, c.n_heads);
  const bool is_long = c.planned_context > c.original_context;
  const char* const factors = is_long ? "rope_factors_long.weight" : "rope_factors_short.weight";
  plan::Value x = b.embed("token_embd.weight", embedding_scale);
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kAdjacent);
    PUNA_TRY(spec.scale, factor(file, p + "attention.scale", double{spec.scale}));
    if (!turns) spec.rope.n_rot = 0;
    if (turns && b.has("rope_factors_long.weight")) spec.freq_factors = factors;
    if (route.n_experts == 0) {
      x = pre_norm_layer(b, c, x, spec, residual_scale);
      continue;
    }
    x = pre_norm_attention(b, c, x, spec, residual_scale);
    const plan::Value h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    x = b.add(x, b.scale(experts(b, l, h, route), residual_scale));
    if (b.has(layer_name(l, "ffn_up_shexp")))
      x = b.add(x, b.scale(shared_expert(b, l, h), residual_scale));
  }
  return finish_logits(b, c, x, logit_divisor);
}

}  // namespace

base::Result<plan::Graph> build_granite(const formats::ModelFile& file, const Config& c) {
  return build(file, c, {});
}

// Older files have none of the keys; these are then the numbers of MiniCPM 2B.
base::Result<plan::Graph> build_minicpm(const formats::ModelFile& file, const Config& c) {
  return build(file, c,
               {.embedding = 12.0,
                .residual = 1.4 / std::sqrt(static_cast<double>(c.n_layers)),
                .logit_divisor = c.hidden / 256.0});
}

}  // namespace puna::models
