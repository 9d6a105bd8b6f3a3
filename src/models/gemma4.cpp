// Gemma 4 text (Google 2026; its small models follow Gemma 3n): Gemma 3's layer with norms of
// values too, local layers with heads of their own size, and last layers that read the keys and
// values of the last local or global layer before them. Each layer ends with its own small
// embedding of the token, gated in, and a factor on the residual stream. Scores are not scaled.

#include <fmt/format.h>

#include <cmath>

#include "models/blocks.h"
#include "models/windows.h"

namespace puna::models {
namespace {

// What the keys say of one layer.
struct Layer {
  bool local = false;
  uint32_t window = 0;
  std::optional<uint32_t> keys_of;
  uint32_t n_kv_heads = 0;
};

struct Facts {
  std::vector<Layer> layers;
  uint32_t local_head_dim = 0, local_n_rot = 0;
  float local_base = 10000.0f;
  uint32_t per_layer = 0;  // columns of a layer's own embedding; 0 = none
  float softcap = 0.0f;
};

base::Result<uint32_t> bounded(const formats::ModelFile& file, const char* key, uint64_t otherwise,
                               uint64_t limit) {
  PUNA_TRY(const uint64_t v, file.get_uint(key, otherwise));
  if (v > limit) {
    return base::fail(
        base::ErrorCode::kCorrupt,
        fmt::format("The key \"{}\" is {}, but up to {} is expected.", key, v, limit));
  }
  return static_cast<uint32_t>(v);
}

base::Result<std::vector<Layer>> read_layers(const formats::ModelFile& file, const Config& c) {
  std::vector<Layer> layers(c.n_layers);
  PUNA_TRY(const std::vector<bool> local, local_layers(file, c, {}));
  PUNA_TRY(const std::vector<uint32_t> windows, sliding_windows(file, c, {}));
  PUNA_TRY(const uint32_t n_shared,
           bounded(file, "gemma4.attention.shared_kv_layers", 0, c.n_layers - 1));
  const uint32_t n_own = c.n_layers - n_shared;
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    layers[l].local = local[l];
    layers[l].window = windows[l];
    layers[l].n_kv_heads = c.kv_heads[l];
    if (l < n_own) continue;
    for (uint32_t own = 0; own < n_own; ++own) {
      if (layers[own].local == layers[l].local) layers[l].keys_of = own;  // the last of its kind
    }
    if (!layers[l].keys_of) {
      return base::fail(base::ErrorCode::kCorrupt,
                        fmt::format("Layer {} shares keys, but no layer of its kind has any.", l));
    }
    layers[l].n_kv_heads = layers[*layers[l].keys_of].n_kv_heads;
  }
  return layers;
}

base::Result<Facts> read_facts(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const uint64_t n_experts, file.get_uint("gemma4.expert_count", 0));
  if (n_experts > 0) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("Gemma 4 models with experts ({}) are not supported yet.", n_experts));
  }
  Facts f;
  PUNA_TRY(f.layers, read_layers(file, c));
  PUNA_TRY(f.local_head_dim, bounded(file, "gemma4.attention.key_length_swa", c.head_dim, 1 << 14));
  PUNA_TRY(f.local_n_rot,
           bounded(file, "gemma4.rope.dimension_count_swa", f.local_head_dim, f.local_head_dim));
  PUNA_TRY(f.local_base, positive(file, "gemma4.rope.freq_base_swa", 10000.0));
  PUNA_TRY(f.per_layer, bounded(file, "gemma4.embedding_length_per_layer_input", 0, 1 << 16));
  PUNA_TRY(const double softcap, file.get_float("gemma4.final_logit_softcapping", 0.0));
  f.softcap = static_cast<float>(softcap);
  if (!(f.softcap >= 0)) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The soft cap of {} on logits is out of range.", softcap));
  }
  return f;
}

// The embeddings of all layers side by side, [tokens, n_layers * per_layer]: the token's own and a
// projection of its hidden embedding x, halves of one variance.
plan::Value layer_embeddings(plan::Builder& b, const Config& c, const Facts& f, plan::Value x) {
  const float half = std::sqrt(0.5f);
  plan::Value own =
      b.embed("per_layer_token_embd.weight", half * std::sqrt(static_cast<float>(f.per_layer)));
  const plan::Value projected = b.scale(b.matmul({"per_layer_model_proj.weight"}, x),
                                        1.0f / std::sqrt(static_cast<float>(c.hidden)));
  plan::PartsSpec norm;
  norm.shape.n = f.per_layer;
  norm.shape.n_parts = c.n_layers;
  norm.shape.eps = c.norm_eps;
  norm.gamma = {"per_layer_proj_norm.weight"};
  return b.add(own, b.scale(b.norm_parts(projected, norm), half));
}

plan::Value attention_block(plan::Builder& b, const Config& c, const Facts& f, uint32_t l,
                            plan::Value h) {
  const Layer& layer = f.layers[l];
  plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
  spec.n_kv_heads = layer.n_kv_heads;
  spec.keys_of = layer.keys_of;
  spec.scale = 1.0f;
  // Rows of a picture see those behind them in layers with windows alone (unlike Gemma 3's), and of
  // those before them what the window shows.
  spec.around = c.media && layer.local;
  if (layer.local) {
    spec.head_dim = f.local_head_dim;
    spec.window = layer.window;
    spec.rope = {kernels::RopePairs::kNeox, f.local_n_rot, f.local_base};
  } else if (b.has("rope_freqs.weight")) {
    spec.freq_factors = "rope_freqs.weight";
  }
  spec.q_norm = layer_name(l, "attn_q_norm");
  std::vector<std::string> weights = {layer_name(l, "attn_q")};
  if (!layer.keys_of) {
    spec.k_norm = layer_name(l, "attn_k_norm");
    spec.v_norm = true;
    // Large models have no weight for values of global layers: they are the keys before their norm.
    const std::string k = layer_name(l, "attn_k"), v = layer_name(l, "attn_v");
    weights.insert(weights.end(), {k, b.has(v) ? v : k});
  }
  return b.matmul({layer_name(l, "attn_output")}, b.attention(b.matmul(weights, h), spec));
}

}  // namespace

base::Result<plan::Graph> build_gemma4(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const Facts f, read_facts(file, c));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight", std::sqrt(static_cast<float>(c.hidden)));
  plan::Value embeddings = f.per_layer > 0 ? layer_embeddings(b, c, f, x) : x;
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::Value h =
        attention_block(b, c, f, l, b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps));
    x = b.add(x, b.rms_norm(h, layer_name(l, "post_attention_norm"), c.norm_eps));
    h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    h = gated_ffn(b, l, h, kernels::Activation::kGeluTanh);
    x = b.add(x, b.rms_norm(h, layer_name(l, "post_ffw_norm"), c.norm_eps));
    if (f.per_layer > 0) {
      h = b.activated(layer_name(l, "inp_gate"), x, kernels::Activation::kGeluTanh);
      h = b.matmul({layer_name(l, "proj")}, b.multiply(h, embeddings, l));
      x = b.add(x, b.rms_norm(h, layer_name(l, "post_norm"), c.norm_eps));
    }
    const std::string factor = layer_name(l, "layer_output_scale");
    if (b.has(factor)) x = b.scale(x, factor);
  }
  return finish_logits(b, c, x, 1.0f, f.softcap);
}

}  // namespace puna::models
