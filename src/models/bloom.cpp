// BLOOM (BigScience 2022) and MPT (MosaicML 2023): attention whose scores fall with the distance
// (ALiBi, Press et al. 2022) in place of positions, layer norms before each block, q, k and v in
// one weight, GELU. BLOOM norms the embeddings too and has biases everywhere; MPT has none, may cut
// q, k and v to clamp_kqv, and has learned positions where it has no ALiBi.

#include <fmt/format.h>

#include "models/layer_normed.h"

namespace puna::models {
namespace {

base::Result<plan::Graph> build(const formats::ModelFile& file, const Config& c, float max_bias,
                                kernels::Activation activation, OnHeads on_heads) {
  LayerNormed layers;
  PUNA_TRY(layers.eps, layer_norm_eps(file, c));
  layers.on_heads = std::move(on_heads);
  layers.attention = [&](uint32_t l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.rope = {};
    spec.max_alibi_bias = max_bias;
    return spec;
  };
  layers.ffn = [&](plan::Builder& b, uint32_t l, plan::Value h) {
    return plain_ffn(b, l, h, activation);
  };
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  if (c.architecture == "bloom") x = b.layer_norm(x, "token_embd_norm.weight", layers.eps);
  if (max_bias == 0.0f) {
    PUNA_TRY(x, add_learned_positions(b, c, x));
  }
  return finish_layer_normed(b, c, x, layers);
}

}  // namespace

base::Result<plan::Graph> build_bloom(const formats::ModelFile& file, const Config& c) {
  return build(file, c, 8.0f, kernels::Activation::kGeluTanh, {});
}

base::Result<plan::Graph> build_mpt(const formats::ModelFile& file, const Config& c) {
  for (const char* name : {"blk.0.attn_q_norm.weight", "blk.0.ffn.act.scales"}) {
    if (!file.find_tensor(name)) continue;
    return base::fail(base::ErrorCode::kUnsupported,
                      fmt::format("MPT models with norms of q and k or scales of activations "
                                  "(\"{}\") are not supported.",
                                  name));
  }
  PUNA_TRY(const float max_bias, factor(file, "mpt.attention.max_alibi_bias", 0.0));
  PUNA_TRY(OnHeads clamp, clamp_heads(file, c));
  return build(file, c, max_bias, kernels::Activation::kGeluErf, std::move(clamp));
}

}  // namespace puna::models
