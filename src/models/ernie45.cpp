// ERNIE 4.5 (Baidu 2025): the Llama layer. "ernie4_5-moe": dense first layers, then on every
// expert-th layer experts, chosen by softmax and a correction, their weights normalised over the
// chosen, beside shared ones. Rotary pairs are adjacent.

#include <fmt/format.h>

#include "models/experts.h"

namespace puna::models {

base::Result<plan::Graph> build_ernie4_5(const formats::ModelFile& file, const Config& c) {
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l)
    x = pre_norm_layer(b, c, x, attention_spec(c, l, kernels::RopePairs::kAdjacent));
  return finish_logits(b, c, x);
}

base::Result<plan::Graph> build_ernie4_5_moe(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const uint64_t n_dense, file.get_uint("ernie4_5-moe.leading_dense_block_count", 0));
  PUNA_TRY(const uint32_t every, count(file, "ernie4_5-moe.interleave_moe_layer_step", 1 << 12));
  PUNA_TRY(const kernels::RouteParams route,
           read_route(file, c, {.scores = kernels::ExpertScores::kSoftmax, .normalise = true}));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    x = pre_norm_attention(b, c, x, attention_spec(c, l, kernels::RopePairs::kAdjacent));
    const plan::Value h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    if (l < n_dense || (l + 1) % every != 0) {
      x = b.add(x, gated_ffn(b, l, h, kernels::Activation::kSilu));
      continue;
    }
    x = b.add(x, experts(b, l, h, route));
    if (b.has(layer_name(l, "ffn_up_shexp"))) x = b.add(x, shared_expert(b, l, h));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
