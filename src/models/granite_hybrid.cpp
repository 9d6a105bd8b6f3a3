// Granite 4 hybrid (IBM 2025): Granite's layer and its four multipliers, with a Mamba-2 layer in
// place of attention in most layers (head_count_kv says which, 0 being Mamba-2), and experts with a
// shared expert where the file has them. Attention does not turn q and k where
// rope.scaling.finetuned is false.

#include "models/experts.h"
#include "models/mamba2_layer.h"

namespace puna::models {

using plan::Builder;
using plan::Value;

base::Result<plan::Graph> build_granite_hybrid(const formats::ModelFile& file, const Config& c) {
  const std::string p = c.architecture + ".";
  PUNA_TRY(const float embedding_scale, factor(file, p + "embedding_scale", 1.0));
  PUNA_TRY(const float residual_scale, factor(file, p + "residual_scale", 1.0));
  PUNA_TRY(const float logit_divisor, factor(file, p + "logit_scale", 1.0));
  PUNA_TRY(const bool turns, file.get_bool(p + "rope.scaling.finetuned", true));
  PUNA_TRY(const Mamba2Config m, mamba2_config(file, c));
  PUNA_TRY(
      const kernels::RouteParams route,
      read_route(file, c, {.scores = kernels::ExpertScores::kSoftmaxOfChosen, .normalise = false}));
  Builder b(file, c.n_heads);
  Value x = b.embed("token_embd.weight", embedding_scale);
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
    if (c.kv_heads[l] == 0) {
      h = mamba2_layer(b, c, m, l, h);
    } else {
      plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kAdjacent);
      PUNA_TRY(spec.scale, factor(file, p + "attention.scale", double{spec.scale}));
      if (!turns) spec.rope.n_rot = 0;
      h = b.matmul({layer_name(l, "attn_output")}, b.attention(qkv(b, l, h), spec));
    }
    x = b.add(x, b.scale(h, residual_scale));
    h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    if (route.n_experts == 0) {
      x = b.add(x, b.scale(gated_ffn(b, l, h, kernels::Activation::kSilu), residual_scale));
      continue;
    }
    x = b.add(x, b.scale(experts(b, l, h, route), residual_scale));
    if (b.has(layer_name(l, "ffn_up_shexp")))
      x = b.add(x, b.scale(shared_expert(b, l, h), residual_scale));
  }
  return finish_logits(b, c, x, logit_divisor);
}

}  // namespace puna::models
