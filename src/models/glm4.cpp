// GLM-4 0414 (Zhipu AI 2025): norms before and after each block, gate and up in one weight, biases
// on q, k and v; the first half of a head turns, in adjacent pairs. GLM-4.5 (2025; "glm4moe"): no
// norms after the blocks, pairs half of n_rot apart, an RMS norm of every q and k head in the large
// model, dense first layers, then experts chosen by sigmoid and a correction, beside a shared one.

#include <fmt/format.h>

#include "models/experts.h"

namespace puna::models {

using plan::Value;

namespace {

// Text files have no sections of positions, or one that all pairs turn by.
base::Result<void> refuse_sections(const formats::ModelFile& file, const Config& c) {
  const std::string key = c.architecture + ".rope.dimension_sections";
  if (!file.find(key)) return {};
  return base::fail(base::ErrorCode::kUnsupported,
                    fmt::format("The file has the key \"{}\": the text models of GLM-4V are not "
                                "supported.",
                                key));
}

}  // namespace

base::Result<plan::Graph> build_glm4(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(refuse_sections(file, c));
  plan::Builder b(file, c.n_heads);
  Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    const plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kAdjacent);
    x = sandwich_layer(b, c, x, spec, kernels::Activation::kSilu);
  }
  return finish_logits(b, c, x);
}

base::Result<plan::Graph> build_glm4moe(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(refuse_sections(file, c));
  PUNA_TRY(const uint64_t n_dense, file.get_uint("glm4moe.leading_dense_block_count", 0));
  PUNA_TRY(const kernels::RouteParams route,
           read_route(file, c, {.scores = kernels::ExpertScores::kSigmoid}));
  plan::Builder b(file, c.n_heads);
  Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    if (b.has(layer_name(l, "attn_q_norm"))) {
      spec.q_norm = layer_name(l, "attn_q_norm");
      spec.k_norm = layer_name(l, "attn_k_norm");
    }
    x = pre_norm_attention(b, c, x, spec);
    const Value h = b.rms_norm(x, layer_name(l, "post_attention_norm"), c.norm_eps);
    if (l < n_dense) {
      x = b.add(x, gated_ffn(b, l, h, kernels::Activation::kSilu));
      continue;
    }
    x = b.add(x, experts(b, l, h, route));
    if (b.has(layer_name(l, "ffn_up_shexp"))) x = b.add(x, shared_expert(b, l, h));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
