// MiniCPM3 (OpenBMB 2024): DeepSeek-V2's latent attention, q by way of a small projection, SwiGLU
// in every layer, and MiniCPM's multipliers: on the embeddings, by depth on what a block adds to
// the residual stream, and a divisor of the logits by width. A file has the key and value matrices
// of a head in one weight. Rotary pairs are half of what is turned apart; LongRoPE's factors are
// tensors.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/blocks.h"

namespace puna::models {

using base::Result;
using plan::Value;

namespace {

Result<plan::LatentSpec> latent_spec(const formats::ModelFile& file, const Config& c) {
  constexpr uint64_t kMostLatent = 1 << 16, kMostValue = 1 << 14;
  plan::LatentSpec spec;
  PUNA_TRY(spec.n_latent, count(file, "minicpm3.attention.kv_lora_rank", kMostLatent));
  spec.v_dim = std::max(1u, c.hidden / c.n_heads);
  if (const char* const key = "minicpm3.attention.value_length"; file.find(key)) {
    PUNA_TRY(spec.v_dim, count(file, key, kMostValue));
  }
  if (c.n_rot >= c.head_dim) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The key \"minicpm3.rope.dimension_count\" is {}, but less than "
                                  "the {} elements of a key is expected.",
                                  c.n_rot, c.head_dim));
  }
  spec.n_nope = c.head_dim - c.n_rot;
  spec.norm_eps = c.norm_eps;
  spec.rope = attention_spec(c, 0, kernels::RopePairs::kNeox).rope;
  spec.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
  if (file.find_tensor("rope_factors_long.weight")) {
    const bool is_long = c.planned_context > c.original_context;
    spec.freq_factors = is_long ? "rope_factors_long.weight" : "rope_factors_short.weight";
  }
  return spec;
}

}  // namespace

base::Result<plan::Graph> build_minicpm3(const formats::ModelFile& file, const Config& c) {
  // Files of llama.cpp have none of the keys; these are then the numbers of MiniCPM3 4B.
  PUNA_TRY(const float embedding_scale, factor(file, "minicpm3.embedding_scale", 12.0));
  PUNA_TRY(const float residual_scale, factor(file, "minicpm3.residual_scale",
                                              1.4 / std::sqrt(static_cast<double>(c.n_layers))));
  PUNA_TRY(const float logit_divisor, factor(file, "minicpm3.logit_scale", c.hidden / 256.0));
  PUNA_TRY(plan::LatentSpec spec, latent_spec(file, c));
  plan::Builder b(file, c.n_heads);
  Value x = b.embed("token_embd.weight", embedding_scale);
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    spec.layer = l;
    spec.kv_norm = layer_name(l, "attn_kv_a_norm");
    spec.key_value = layer_name(l, "attn_kv_b");
    Value h = b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps);
    const Value low = b.matmul({layer_name(l, "attn_q_a")}, h);
    const Value q = b.matmul({layer_name(l, "attn_q_b")},
                             b.rms_norm(low, layer_name(l, "attn_q_a_norm"), c.norm_eps));
    const Value kv = b.matmul({layer_name(l, "attn_kv_a_mqa")}, h);
    h = b.matmul({layer_name(l, "attn_output")}, b.latent_attention(q, kv, spec));
    x = b.add(x, b.scale(h, residual_scale));
    h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    x = b.add(x, b.scale(gated_ffn(b, l, h, kernels::Activation::kSilu), residual_scale));
  }
  return finish_logits(b, c, x, logit_divisor);
}

}  // namespace puna::models
