#include "models/blocks.h"

#include <fmt/format.h>

#include <cmath>

namespace puna::models {

using plan::Builder;
using plan::Value;

namespace {

// What the file says of a product must be what it holds: a file whose product was left out gives
// other embeddings.
base::Result<void> check_dense(const formats::ModelFile& file, const Config& c,
                               const std::string& name) {
  const formats::Tensor* tensor = file.find_tensor(name + ".weight");
  const std::pair<std::string, uint64_t> sides[] = {{"_feat_in", tensor ? tensor->columns() : 0},
                                                    {"_feat_out", tensor ? tensor->rows() : 0}};
  for (const auto& [side, found] : sides) {
    const std::string key = fmt::format("{}.{}{}", c.architecture, name, side);
    PUNA_TRY(const uint64_t told, file.get_uint(key, 0));
    if (told == 0 || told == found) continue;
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The key \"{}\" is {}, but {}.", key, told,
                                  tensor ? fmt::format("\"{}.weight\" has {}", name, found)
                                         : fmt::format("there is no \"{}.weight\"", name)));
  }
  return {};
}

}  // namespace

std::string layer_name(uint32_t layer, std::string_view part) {
  return fmt::format("blk.{}.{}.weight", layer, part);
}

plan::AttentionSpec attention_spec(const Config& c, uint32_t layer, kernels::RopePairs pairs) {
  plan::AttentionSpec spec;
  spec.layer = layer;
  spec.n_kv_heads = c.kv_heads[layer];
  spec.head_dim = c.head_dim;
  spec.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
  spec.rope = {pairs, c.n_rot, c.rope_bases[layer], c.rope_freq_scale, c.yarn, c.rope_magnitude,
               {}};
  spec.norm_eps = c.norm_eps;
  spec.causal = c.causal;
  return spec;
}

Value qkv(Builder& b, uint32_t layer, Value h) {
  const std::string fused = layer_name(layer, "attn_qkv");
  if (b.has(fused)) return b.matmul({fused}, h);
  return b.matmul(
      {layer_name(layer, "attn_q"), layer_name(layer, "attn_k"), layer_name(layer, "attn_v")}, h);
}

void norm_q_and_k(Builder& b, const Config& c, uint32_t layer, Value qkv) {
  const std::string q_norm = layer_name(layer, "attn_q_norm");
  const std::string k_norm = layer_name(layer, "attn_k_norm");
  plan::PartsSpec spec;
  spec.shape.eps = c.norm_eps;
  spec.shape.n = c.n_heads * c.head_dim;
  if (c.n_heads == c.kv_heads[layer]) {
    spec.shape.n_parts = 2;
    spec.shape.weights_by_part = true;
    spec.gamma = {q_norm, k_norm};
    b.norm_parts(qkv, spec);
    return;
  }
  spec.gamma = {q_norm};
  b.norm_parts(qkv, spec);
  spec.shape.x_column = spec.shape.n;
  spec.shape.n = c.kv_heads[layer] * c.head_dim;
  spec.gamma = {k_norm};
  b.norm_parts(qkv, spec);
}

Value gated_ffn(Builder& b, uint32_t layer, Value h, kernels::Activation activation) {
  const std::string gate = layer_name(layer, "ffn_gate"), up = layer_name(layer, "ffn_up");
  const Value f =
      b.has(gate) ? b.gated(gate, up, h, activation) : b.gated_halves(up, h, activation);
  return b.matmul({layer_name(layer, "ffn_down")}, f);
}

Value plain_ffn(Builder& b, uint32_t layer, Value h, kernels::Activation activation) {
  return b.matmul({layer_name(layer, "ffn_down")},
                  b.activated(layer_name(layer, "ffn_up"), h, activation));
}

Value pre_norm_attention(Builder& b, const Config& c, Value x, const plan::AttentionSpec& spec,
                         float residual_scale) {
  const uint32_t l = spec.layer;
  const Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
  const Value a = b.matmul({layer_name(l, "attn_output")}, b.attention(qkv(b, l, h), spec));
  return b.add(x, b.scale(a, residual_scale));
}

Value pre_norm_layer(Builder& b, const Config& c, Value x, const plan::AttentionSpec& spec,
                     float residual_scale) {
  const uint32_t l = spec.layer;
  x = pre_norm_attention(b, c, x, spec, residual_scale);
  const Value f = gated_ffn(b, l, b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps),
                            kernels::Activation::kSilu);
  return b.add(x, b.scale(f, residual_scale));
}

Value sandwich_layer(Builder& b, const Config& c, Value x, const plan::AttentionSpec& spec,
                     kernels::Activation activation) {
  const uint32_t l = spec.layer;
  Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
  h = b.matmul({layer_name(l, "attn_output")}, b.attention(qkv(b, l, h), spec));
  x = b.add(x, b.rms_norm(h, layer_name(l, "post_attention_norm"), c.norm_eps));
  h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
  h = gated_ffn(b, l, h, activation);
  return b.add(x, b.rms_norm(h, layer_name(l, "post_ffw_norm"), c.norm_eps));
}

base::Result<plan::Graph> finish_logits(Builder& b, const Config& c, Value x, float logit_divisor,
                                        float softcap, std::string_view norm) {
  x = b.rms_norm(b.select_outputs(x), norm, c.norm_eps);
  return finish_normed(b, x, 1.0f / logit_divisor, softcap);
}

base::Result<plan::Graph> finish_normed(Builder& b, Value x, float logit_factor, float softcap) {
  const Value logits =
      b.matmul({b.has("output.weight") ? "output.weight" : "token_embd.weight"}, x);
  return b.finish(b.softcap(b.scale(logits, logit_factor), softcap));
}

base::Result<Value> products_behind_pooling(Builder& b, const formats::ModelFile& file,
                                            const Config& c, Value x) {
  for (const std::string name : {"dense_2", "dense_3"}) {
    PUNA_TRY(check_dense(file, c, name));
    if (b.has(name + ".weight")) x = b.matmul({name + ".weight"}, x);
  }
  return x;
}

}  // namespace puna::models
