// Hunyuan (Tencent 2025): the Llama layer with an RMS norm of every q and k head, which comes after
// the turn by position. "hunyuan-moe" (Hunyuan-A13B): experts whose weights, a softmax over all of
// them, are normalised over the chosen, beside a shared one. Rotary pairs are half a head apart.

#include "models/experts.h"

namespace puna::models {

namespace {

plan::AttentionSpec attention_of(const Config& c, uint32_t layer) {
  plan::AttentionSpec spec = attention_spec(c, layer, kernels::RopePairs::kNeox);
  spec.q_norm = layer_name(layer, "attn_q_norm");
  spec.k_norm = layer_name(layer, "attn_k_norm");
  spec.rope.norms_last = true;
  return spec;
}

}  // namespace

base::Result<plan::Graph> build_hunyuan_dense(const formats::ModelFile& file, const Config& c) {
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) x = pre_norm_layer(b, c, x, attention_of(c, l));
  return finish_logits(b, c, x);
}

base::Result<plan::Graph> build_hunyuan_moe(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const kernels::RouteParams route,
           read_route(file, c, {.scores = kernels::ExpertScores::kSoftmax, .normalise = true}));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    x = pre_norm_attention(b, c, x, attention_of(c, l));
    const plan::Value h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    x = b.add(x, experts(b, l, h, route));
    x = b.add(x, shared_expert(b, l, h));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
