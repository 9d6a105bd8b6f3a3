// Gemma 2, 3 and 4. Norm weights of the first two are stored as what is added to 1.

#include <fmt/format.h>

#include <cmath>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr uint64_t kMostHeadDim = uint64_t{1} << 20;  // lists of its size are made

constexpr Rename sandwich(std::string_view hf, std::string_view gguf, How norm) {
  return {hf, gguf, norm};
}

Result<void> put_layers(Mapping& m, How norm) {
  const Rename layer[] = {
      sandwich("input_layernorm", "attn_norm", norm),
      sandwich("self_attn.q_norm", "attn_q_norm", norm),
      sandwich("self_attn.k_norm", "attn_k_norm", norm),
      {"self_attn.o_proj", "attn_output"},
      sandwich("post_attention_layernorm", "post_attention_norm", norm),
      sandwich("pre_feedforward_layernorm", "ffn_norm", norm),
      sandwich("post_feedforward_layernorm", "post_ffw_norm", norm),
  };
  PUNA_TRY(put_ends(m, norm));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    PUNA_TRY(m.rename_layer(l, fmt::format("model.layers.{}.", l), layer));
    PUNA_TRY(put_qkv(m, l, How::kSame, How::kSame));
    PUNA_TRY(put_gate_up(m, l));
  }
  return {};
}

// src/models scales scores by 1 / sqrt(head size), and by the width per head for models of one
// number of layers.
Result<void> check_score_scale(const Mapping& m, uint32_t layers_of_largest) {
  const uint64_t wanted =
      m.n_layers == layers_of_largest && m.n_heads > 0 ? m.hidden / m.n_heads : m.head_dim;
  PUNA_TRY(const double scale,
           m.config().real("query_pre_attn_scalar", static_cast<double>(wanted)));
  if (scale == static_cast<double>(wanted)) return {};
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The key \"query_pre_attn_scalar\" of config.json is {}; only {} "
                                "is supported for this model.",
                                scale, wanted));
}

constexpr Key kGemma2Keys[] = {
    {"sliding_window", "attention.sliding_window"},
    {"attn_logit_softcapping", "attn_logit_softcapping", Key::Kind::kReal},
    {"final_logit_softcapping", "final_logit_softcapping", Key::Kind::kReal},
};

// Every how many layers one attends to all, from "layer_types" or the older key.
Result<uint64_t> pattern_of(const Mapping& m) {
  PUNA_TRY(const std::vector<std::string> types, m.config().texts("layer_types"));
  uint64_t pattern = 0;
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    if (m.config().has(key)) {
      PUNA_TRY(pattern, m.config().count(key));
    }
  }
  if (types.empty()) return pattern == 0 ? 6 : pattern;
  size_t n_local = 0;
  while (n_local < types.size() && types[n_local] == "sliding_attention") ++n_local;
  const size_t every = n_local + 1;
  for (size_t l = 0; l < types.size(); ++l) {
    if ((types[l] == "sliding_attention") == ((l + 1) % every != 0)) continue;
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The key \"layer_types\" of config.json makes layer {} \"{}\", "
                                  "which is not one in every {} layers.",
                                  l, types[l], every));
  }
  return every;
}

// Gemma 4's global layers may have a head size and KV heads of their own, by either of two keys.
Result<uint64_t> global_size(const Mapping& m, const char* key, const char* name, uint64_t usual) {
  if (m.config().has(key)) return m.config().count(key);
  const base::Json* by_layer = m.config().find("per_layer_config");
  PUNA_TRY(const std::vector<std::string> types, m.config().texts("layer_types"));
  uint64_t found = usual;
  bool any = false;
  for (size_t l = 0; by_layer && by_layer->is_object() && l < types.size(); ++l) {
    if (types[l] != "full_attention") continue;
    const base::Json* layer = by_layer->find(std::to_string(l));
    const base::Json* value = layer ? layer->find(name) : nullptr;
    const uint64_t here = value && value->is_integer() && value->integer() > 0
                              ? static_cast<uint64_t>(value->integer())
                              : usual;
    if (any && here != found) {
      return base::fail(ErrorCode::kUnsupported,
                        fmt::format("The global layers of config.json's \"per_layer_config\" have "
                                    "{} and {} for \"{}\"; one is supported.",
                                    found, here, name));
    }
    found = here;
    any = true;
  }
  return found;
}

// The tensor that keeps the last pairs of global heads from turning.
Result<void> put_proportional_rope(Mapping& m, uint64_t head_dim) {
  PUNA_TRY(const Config rope, rope_parameters(m, "full_attention"));
  PUNA_TRY(const std::string type, rope.text("rope_type", "default"));
  if (type != "proportional" && type != "default") {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The rope type \"{}\" is not supported for Gemma 4 (supported: "
                                  "default, proportional).",
                                  type));
  }
  PUNA_TRY(const double base, rope.real("rope_theta", 1e6));
  m.set("rope.freq_base", base);
  m.set("rope.dimension_count", head_dim);
  PUNA_TRY(const double part, rope.real("partial_rotary_factor", 1.0));
  if (head_dim > kMostHeadDim) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("config.json gives global heads of {} elements; at most {} are "
                                  "expected.",
                                  head_dim, kMostHeadDim));
  }
  const double turned = static_cast<double>(head_dim) * part / 2;
  std::vector<float> divisors;
  for (uint64_t i = 0; i < head_dim / 2; ++i)
    divisors.push_back(static_cast<double>(i) + 1 <= turned ? 1.0f : 1e30f);
  if (type == "proportional") m.put_values("rope_freqs.weight", std::move(divisors));
  return {};
}

constexpr Key kGemma4Keys[] = {
    {"num_hidden_layers", "block_count"},
    {"max_position_embeddings", "context_length"},
    {"hidden_size", "embedding_length"},
    {"num_attention_heads", "attention.head_count"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon", Key::Kind::kReal},
    {"vocab_size", "vocab_size"},
    {"sliding_window", "attention.sliding_window"},
    {"num_kv_shared_layers", "attention.shared_kv_layers"},
    {"hidden_size_per_layer_input", "embedding_length_per_layer_input", Key::Kind::kCount, false},
    {"final_logit_softcapping", "final_logit_softcapping", Key::Kind::kReal, false},
};

Result<void> put_gemma4_keys(Mapping& m) {
  PUNA_TRY(m.copy(kGemma4Keys));
  PUNA_TRY(const std::vector<std::string> types, m.config().texts("layer_types"));
  PUNA_TRY(const uint64_t head_dim, global_size(m, "global_head_dim", "head_dim", m.head_dim));
  PUNA_TRY(const uint64_t kv_heads,
           global_size(m, "num_global_key_value_heads", "num_key_value_heads", m.n_kv_heads));
  PUNA_TRY(const uint64_t ffn, m.config().count("intermediate_size"));
  PUNA_TRY(const uint64_t shared, m.config().count("num_kv_shared_layers", 0));
  PUNA_TRY(const bool wide, m.config().flag("use_double_wide_mlp", false));
  std::vector<bool> local;
  std::vector<uint64_t> heads, widths;
  for (const std::string& type : types) {
    const uint64_t l = local.size();
    local.push_back(type == "sliding_attention");
    heads.push_back(local.back() ? m.n_kv_heads : kv_heads);
    widths.push_back(wide && l + shared >= types.size() ? 2 * ffn : ffn);
  }
  m.set("attention.sliding_window_pattern", std::move(local));
  m.set("attention.head_count_kv", std::move(heads));
  m.set("feed_forward_length", std::move(widths));
  for (const char* part : {"attention.key_length", "attention.value_length"}) {
    m.set(part, head_dim);
    m.set(std::string(part) + "_swa", m.head_dim);
  }
  m.set("rope.dimension_count_swa", m.head_dim);
  PUNA_TRY(const Config local_rope, rope_parameters(m, "sliding_attention"));
  PUNA_TRY(const double local_base, local_rope.real("rope_theta", 10000.0));
  m.set("rope.freq_base_swa", local_base);
  return put_proportional_rope(m, head_dim);
}

}  // namespace

Result<void> map_gemma2(Mapping& m) {
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(m.copy(kGemma2Keys));
  PUNA_TRY(check_score_scale(m, 46));
  PUNA_TRY(check_layer_types(m, "sliding_attention", [](uint32_t l) { return l % 2 == 0; }));
  return put_layers(m, How::kPlusOne);
}

bool sees_both_ways(const Config& config) {
  const base::Json* const value = config.find("use_bidirectional_attention");
  return value && *value == base::Json(true);
}

namespace {

// What Gemma 3 and EmbeddingGemma share.
Result<void> put_gemma3(Mapping& m) {
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(check_score_scale(m, 62));
  PUNA_TRY(const uint64_t window, m.config().count("sliding_window", 0));
  PUNA_TRY(const uint64_t pattern, pattern_of(m));
  m.set("attention.sliding_window", window);
  if (pattern != 6) m.set("attention.sliding_window_pattern", pattern);  // the usual one
  PUNA_TRY(const Config local, rope_parameters(m, "sliding_attention"));
  PUNA_TRY(double local_base, local.real("rope_theta", 10000.0));
  if (m.config().has("rope_local_base_freq")) {  // older files
    PUNA_TRY(local_base, m.config().real("rope_local_base_freq"));
  }
  m.set("rope.freq_base_swa", local_base);
  return put_layers(m, How::kPlusOne);
}

}  // namespace

Result<void> map_gemma3(Mapping& m) {
  PUNA_TRY(m.config().must_be("use_bidirectional_attention", false));
  PUNA_TRY(put_gemma3(m));
  PUNA_TRY(const double softcap, m.config().real("final_logit_softcapping", 0.0));
  if (softcap > 0) m.set("final_logit_softcapping", softcap);
  return {};
}

Result<void> map_gemma_embedding(Mapping& m) {
  PUNA_TRY(put_gemma3(m));
  m.set("attention.causal", false);
  return put_products_behind_pooling(m);
}

Result<void> map_gemma4(Mapping& m) {
  PUNA_TRY(m.config().must_be("enable_moe_block", false));
  PUNA_TRY(m.read_sizes());
  PUNA_TRY(put_gemma4_keys(m));
  PUNA_TRY(put_layers(m, How::kSame));
  PUNA_TRY(m.rename("model.embed_tokens_per_layer.weight", "per_layer_token_embd.weight"));
  PUNA_TRY(m.rename("model.per_layer_model_projection.weight", "per_layer_model_proj.weight"));
  PUNA_TRY(m.rename("model.per_layer_projection_norm.weight", "per_layer_proj_norm.weight"));
  constexpr Rename kLayer[] = {
      {"per_layer_input_gate", "inp_gate"},
      {"per_layer_projection", "proj"},
      {"post_per_layer_input_norm", "post_norm"},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    PUNA_TRY(m.rename(prefix + "layer_scalar", layer_name(l, "layer_output_scale.weight")));
  }
  return {};
}

}  // namespace puna::formats::hf
