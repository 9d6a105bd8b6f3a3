// Qwen3-Next (Alibaba 2025) and Qwen3.5 (2026; "qwen35"): three layers of four mix tokens by the
// gated delta rule behind a short convolution, the fourth by attention whose output is gated; which
// a layer is shows by its tensors. q and k heads have RMS norms, and only the first n_rot elements
// of a head turn, in pairs half of n_rot apart. Qwen3-Next has experts and a gated shared expert.
// Qwen3.5 tells three kinds of positions apart, which are one and the same for text, and its files
// have the value heads in another order.

#include <fmt/format.h>

#include "models/experts.h"

namespace puna::models {
namespace {

using plan::Builder;
using plan::Value;

// The shapes of the gated delta rule, from the keys "ARCH.ssm.*".
base::Result<kernels::DeltaShape> delta_shape(const formats::ModelFile& file, const Config& c) {
  constexpr uint64_t kMost = 1 << 16;
  const std::string p = c.architecture + ".ssm.";
  kernels::DeltaShape s;
  PUNA_TRY(s.n_key_heads, count(file, p + "group_count", kMost));
  PUNA_TRY(s.n_value_heads, count(file, p + "time_step_rank", kMost));
  PUNA_TRY(s.key_dim, count(file, p + "state_size", kMost));
  PUNA_TRY(const uint32_t inner, count(file, p + "inner_size", uint64_t{1} << 24));
  if (s.n_value_heads % s.n_key_heads != 0 || inner % s.n_value_heads != 0) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The keys \"{}*\" give {} elements over {} value heads and {} "
                                  "key heads, which do not divide.",
                                  p, inner, s.n_value_heads, s.n_key_heads));
  }
  s.value_dim = inner / s.n_value_heads;
  s.eps = c.norm_eps;
  return s;
}

Value delta_layer(Builder& b, const Config& c, kernels::DeltaShape shape, uint32_t layer, Value h) {
  // The columns of the projections: q, k and values, then z, then beta and alpha: of all heads, or
  // in one tensor for each key head those of its value heads.
  const uint32_t z_column = shape.qkv_columns();
  shape.beta_column = z_column + shape.value_columns();
  std::vector<std::string> weights = {layer_name(layer, "attn_qkv"),
                                      layer_name(layer, "attn_gate")};
  if (const std::string both = layer_name(layer, "ssm_ba"); b.has(both)) {
    weights.push_back(both);
    shape.alpha_column = shape.beta_column + shape.ratio();
    shape.head_stride = 2 * shape.ratio();
  } else {
    weights.insert(weights.end(), {layer_name(layer, "ssm_beta"), layer_name(layer, "ssm_alpha")});
    shape.alpha_column = shape.beta_column + shape.n_value_heads;
    shape.head_stride = shape.ratio();
  }
  const Value in = b.matmul(weights, h);
  plan::ConvSpec conv;
  conv.layer = layer;
  conv.weight = layer_name(layer, "ssm_conv1d");
  conv.n_channels = shape.qkv_columns();
  plan::DeltaSpec rule;
  rule.layer = layer;
  rule.a = fmt::format("blk.{}.ssm_a", layer);
  rule.dt_bias = fmt::format("blk.{}.ssm_dt.bias", layer);
  rule.shape = shape;
  const Value y = b.delta(b.conv(in, conv), in, rule);
  const Value normed = b.group_norm(y, layer_name(layer, "ssm_norm"), shape.n_value_heads,
                                    c.norm_eps, plan::NormGate{in, z_column});
  return b.matmul({layer_name(layer, "ssm_out")}, normed);
}

Value gated_attention(Builder& b, const Config& c, uint32_t layer, Value h) {
  plan::AttentionSpec spec = attention_spec(c, layer, kernels::RopePairs::kNeox);
  spec.q_norm = layer_name(layer, "attn_q_norm");
  spec.k_norm = layer_name(layer, "attn_k_norm");
  const auto [qkv, gate] = b.gated_qkv(layer_name(layer, "attn_q"), layer_name(layer, "attn_k"),
                                       layer_name(layer, "attn_v"), c.head_dim, h);
  return b.matmul({layer_name(layer, "attn_output")}, b.gate(b.attention(qkv, spec), gate));
}

// ffn(builder, layer, h, x) adds what follows the mixing of tokens to x.
template <class Ffn>
base::Result<plan::Graph> build_layers(const formats::ModelFile& file, const Config& c, bool tiled,
                                       const Ffn& ffn) {
  PUNA_TRY(kernels::DeltaShape shape, delta_shape(file, c));
  shape.tiled = tiled;
  Builder b(file, c.n_heads);
  Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
    x = b.add(x, b.has(layer_name(l, "ssm_conv1d")) ? delta_layer(b, c, shape, l, h)
                                                    : gated_attention(b, c, l, h));
    h = b.rms_norm(x, layer_name(l, "post_attention_norm"), c.norm_eps);
    x = ffn(b, l, h, x);
  }
  return finish_logits(b, c, x);
}

}  // namespace

base::Result<plan::Graph> build_qwen35(const formats::ModelFile& file, const Config& c) {
  return build_layers(file, c, /*tiled=*/true, [](Builder& b, uint32_t l, Value h, Value x) {
    return b.add(x, gated_ffn(b, l, h, kernels::Activation::kSilu));
  });
}

base::Result<plan::Graph> build_qwen3next(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const kernels::RouteParams route,
           read_route(file, c, {.scores = kernels::ExpertScores::kSoftmax, .normalise = true}));
  return build_layers(file, c, /*tiled=*/false, [&](Builder& b, uint32_t l, Value h, Value x) {
    x = b.add(x, experts(b, l, h, route));
    return b.add(x, gated_shared_expert(b, l, h));
  });
}

}  // namespace puna::models
