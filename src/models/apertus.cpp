// Apertus (Swiss AI Initiative 2025): the Llama layer with an RMS norm of every q and k head, and a
// feed-forward block without a gate, whose activation is xIELU (Huang and Schlag 2024) with
// parameters of its own in each layer; they are metadata. Rotary pairs are half a head apart; Llama
// 3's frequency factors are a tensor, rope_freqs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/blocks.h"

namespace puna::models {

using base::Result;

namespace {

// What the file lists for each layer under "xielu.*".
Result<std::vector<double>> by_layer(const formats::ModelFile& file, const Config& c,
                                     const std::string& key) {
  const formats::Value* value = file.find(key);
  if (!value) return std::unexpected(file.get_float(key).error());
  PUNA_TRY(std::vector<double> found, formats::as_floats(key, *value));
  PUNA_TRY(found, of_layers(key, std::move(found), c));
  for (const double v : found) {
    if (std::isfinite(v)) continue;
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The key \"{}\" lists {}, but numbers are expected.", key, v));
  }
  return found;
}

float softplus(double v) {
  return static_cast<float>(std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v))));
}

}  // namespace

base::Result<plan::Graph> build_apertus(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const auto positive_share, by_layer(file, c, "xielu.alpha_p"));
  PUNA_TRY(const auto negative_share, by_layer(file, c, "xielu.alpha_n"));
  PUNA_TRY(const auto slope, by_layer(file, c, "xielu.beta"));
  PUNA_TRY(const auto bound, by_layer(file, c, "xielu.eps"));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    PUNA_TRY(spec.scale, factor(file, "apertus.attention.scale", double{spec.scale}));
    spec.q_norm = layer_name(l, "attn_q_norm");
    spec.k_norm = layer_name(l, "attn_k_norm");
    if (b.has("rope_freqs.weight")) spec.freq_factors = "rope_freqs.weight";
    x = pre_norm_attention(b, c, x, spec);
    const plan::Value h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    const auto beta = static_cast<float>(slope[l]);
    const plan::Value f = b.unary(b.matmul({layer_name(l, "ffn_up")}, h), kernels::Unary::kXielu,
                                  {softplus(positive_share[l]), beta + softplus(negative_share[l]),
                                   beta, static_cast<float>(bound[l])});
    x = b.add(x, b.matmul({layer_name(l, "ffn_down")}, f));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
