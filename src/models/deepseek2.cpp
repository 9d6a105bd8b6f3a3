// DeepSeek-V2 and V3 (DeepSeek-V2, 2024; DeepSeek-V3 Technical Report, 2024): latent attention over
// a compressed cache, dense first layers, then experts beside shared ones. The key matrices are
// multiplied into q and the value matrices into the result, so that the cache holds one short row a
// token for all heads. Rotary pairs are adjacent.

#include <fmt/format.h>

#include <cmath>

#include "models/experts.h"

namespace puna::models {

using base::Result;
using plan::Builder;
using plan::Value;

namespace {

Result<uint32_t> size(const formats::ModelFile& file, const char* key) {
  const std::string name = fmt::format("deepseek2.{}", key);
  PUNA_TRY(const uint64_t n, file.get_uint(name));
  if (n == 0 || n > 1 << 20) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The key \"{}\" is {}, which is out of range.", name, n));
  }
  return static_cast<uint32_t>(n);
}

// Sizes and scale of attention, the same in all layers.
Result<plan::LatentSpec> latent_spec(const formats::ModelFile& file, const Config& c) {
  plan::LatentSpec spec;
  PUNA_TRY(spec.n_latent, size(file, "attention.kv_lora_rank"));
  PUNA_TRY(const uint32_t key_dim, size(file, "attention.key_length_mla"));
  PUNA_TRY(spec.v_dim, size(file, "attention.value_length_mla"));
  if (c.n_rot >= key_dim) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("Of {} elements of a key {} are turned.", key_dim, c.n_rot));
  }
  spec.n_nope = key_dim - c.n_rot;
  spec.norm_eps = c.norm_eps;
  spec.rope = attention_spec(c, 0, kernels::RopePairs::kAdjacent).rope;
  spec.scale = 1.0f / std::sqrt(static_cast<float>(key_dim));
  // The key holds 0.1 * mscale_all_dim: YaRN's correction then is on all of a score, not on its
  // turned part.
  PUNA_TRY(const double log_multiplier,
           file.get_float("deepseek2.rope.scaling.yarn_log_multiplier", 0.0));
  if (log_multiplier != 0.0) {
    const double correction = 1.0 - log_multiplier * std::log(double{c.rope_freq_scale});
    spec.scale *= static_cast<float>(correction * correction);
    spec.rope.magnitude = 1.0f;
  }
  return spec;
}

// q by way of a small projection, in the larger models.
Value queries(Builder& b, const Config& c, uint32_t l, Value h) {
  if (b.has(layer_name(l, "attn_q"))) return b.matmul({layer_name(l, "attn_q")}, h);
  const Value low = b.matmul({layer_name(l, "attn_q_a")}, h);
  return b.matmul({layer_name(l, "attn_q_b")},
                  b.rms_norm(low, layer_name(l, "attn_q_a_norm"), c.norm_eps));
}

}  // namespace

base::Result<plan::Graph> build_deepseek2(const formats::ModelFile& file, const Config& c) {
  if (!file.find("deepseek2.attention.key_length_mla")) {
    return base::fail(base::ErrorCode::kUnsupported,
                      "The file has no key \"deepseek2.attention.key_length_mla\": its attention "
                      "weights are of the older form (attn_kv_b), which is not supported; convert "
                      "the model anew.");
  }
  PUNA_TRY(plan::LatentSpec spec, latent_spec(file, c));
  PUNA_TRY(const uint64_t n_dense, file.get_uint("deepseek2.leading_dense_block_count", 0));
  PUNA_TRY(const kernels::RouteParams route, read_route(file, c, {}));
  Builder b(file, c.n_heads);
  Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    spec.layer = l;
    spec.kv_norm = layer_name(l, "attn_kv_a_norm");
    spec.key = layer_name(l, "attn_k_b");
    spec.value = layer_name(l, "attn_v_b");
    Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
    const Value q = queries(b, c, l, h);
    const Value kv = b.matmul({layer_name(l, "attn_kv_a_mqa")}, h);
    x = b.add(x, b.matmul({layer_name(l, "attn_output")}, b.latent_attention(q, kv, spec)));
    h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
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
