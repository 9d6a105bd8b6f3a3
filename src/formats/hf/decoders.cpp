// Decoders that differ from Llama by a norm, a bias, an activation or a multiplier: Apertus, Arcee,
// Cohere's Command R, ERNIE 4.5, EXAONE 4, GLM-4, Hunyuan, MiniCPM and MiniCPM3, Nemotron,
// Seed-OSS. Read first: llama.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

// Layers whose rotary pairs are neighbours already, or half a head apart in GGUF too.
Result<void> put_same_layers(Mapping& m, std::span<const Rename> layer) {
  PUNA_TRY(put_ends(m));
  return put_decoder_layers(m, layer, How::kSame, How::kSame);
}

constexpr Rename kPreNorms[] = {
    {"input_layernorm", "attn_norm"},
    {"self_attn.o_proj", "attn_output"},
    {"post_attention_layernorm", "ffn_norm"},
};

constexpr Key kCohereKeys[] = {
    {"layer_norm_eps", "attention.layer_norm_epsilon", Key::Kind::kReal, false},
    {"logit_scale", "logit_scale", Key::Kind::kReal},
};

Result<void> put_cohere(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(m.copy(kCohereKeys));
  m.set("rope.scaling.type", std::string("none"));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
  };
  m.config().usually("tie_word_embeddings", true);
  return put_same_layers(m, kLayer);
}

// MiniCPM's multipliers: on the embeddings, by depth on the residual stream, by width on the
// logits.
Result<void> put_minicpm_scales(Mapping& m) {
  PUNA_TRY(const double embedding, m.config().real("scale_emb"));
  PUNA_TRY(const double depth, m.config().real("scale_depth"));
  PUNA_TRY(const double base_width, m.config().real("dim_model_base"));
  if (!(base_width > 0)) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"dim_model_base\" of config.json is {}, but a positive "
                                  "number is expected.",
                                  base_width));
  }
  m.set("embedding_scale", embedding);
  m.set("residual_scale", depth / std::sqrt(static_cast<double>(m.n_layers)));
  m.set("logit_scale", static_cast<double>(m.hidden) / base_width);
  return {};
}

}  // namespace

Result<void> put_half_rotary(Mapping& m) {
  PUNA_TRY(const Config rope, rope_parameters(m, "full_attention"));
  if (!rope.has("partial_rotary_factor")) m.set("rope.dimension_count", m.head_dim / 2);
  return {};
}

// Each layer's activation has parameters, which GGUF lists as metadata.
Result<void> map_apertus(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "xielu"));
  PUNA_TRY(put_decoder_keys(m));
  for (const char* part : {"alpha_p", "alpha_n", "beta", "eps"}) {
    std::vector<double> by_layer;
    for (uint32_t l = 0; l < m.n_layers; ++l) {
      const std::string name = fmt::format("model.layers.{}.mlp.act_fn.{}", l, part);
      const RawTensor* tensor = m.find(name);
      if (!tensor || !tensor->scalar) {
        return base::fail(ErrorCode::kNotFound,
                          fmt::format("Tensor \"{}\", a number, is missing.", name));
      }
      by_layer.push_back(static_cast<double>(*tensor->scalar));
    }
    m.set_general(fmt::format("xielu.{}", part), std::move(by_layer));
  }
  constexpr Rename kLayer[] = {
      {"attention_layernorm", "attn_norm"},  {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},   {"self_attn.k_norm", "attn_k_norm"},
      {"feedforward_layernorm", "ffn_norm"},
  };
  return put_same_layers(m, kLayer);
}

Result<void> map_arcee(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "relu2"));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(put_ends(m));
  return put_decoder_layers(m, kPreNorms, How::kPairsQ, How::kPairsK);
}

Result<void> map_cohere(Mapping& m) {
  PUNA_TRY(put_cohere(m));
  if (!m.config().has("model_max_length")) return {};
  PUNA_TRY(const uint64_t context, m.config().count("model_max_length"));
  m.set("context_length", context);  // what it was trained for; the other key is too small
  return {};
}

Result<void> map_cohere2(Mapping& m) {
  PUNA_TRY(put_cohere(m));
  PUNA_TRY(check_layer_types(m, "sliding_attention", [](uint32_t l) { return (l + 1) % 4 != 0; }));
  PUNA_TRY(m.config().must_be("sliding_window_pattern", 4));
  PUNA_TRY(const uint64_t window, m.config().count("sliding_window"));
  m.set("attention.sliding_window", window);
  if (!m.config().has("rotary_pct")) return {};
  PUNA_TRY(const double part, m.config().real("rotary_pct"));
  if (part > 0 && part < 1) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The key \"rotary_pct\" of config.json is {}; only 1 is "
                                  "supported for this model.",
                                  part));
  }
  return {};
}

Result<void> map_ernie4_5(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  m.config().usually("tie_word_embeddings", true);
  return put_same_layers(m, kPreNorms);
}

Result<void> map_exaone4(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  if (m.config().has("sliding_window")) {
    PUNA_TRY(const uint64_t window, m.config().count("sliding_window"));
    PUNA_TRY(const std::vector<std::string> types, m.config().texts("layer_types"));
    m.set("attention.sliding_window", window);
    if (types.empty()) {
      const base::Json* const pattern = m.config().find("sliding_window_pattern");
      if (pattern && *pattern != base::Json("LLLG")) {
        PUNA_TRY(m.config().must_be("sliding_window_pattern", 4));
      }
    } else {
      std::vector<bool> local;
      for (const std::string& type : types) local.push_back(type == "sliding_attention");
      m.set("attention.sliding_window_pattern", std::move(local));
    }
  }
  constexpr Rename kLayer[] = {
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"post_attention_layernorm", "post_attention_norm"},
      {"post_feedforward_layernorm", "post_ffw_norm"},
  };
  return put_same_layers(m, kLayer);
}

Result<void> map_glm4(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(put_half_rotary(m));
  PUNA_TRY(put_ends(m));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.o_proj", "attn_output"},
      {"post_self_attn_layernorm", "post_attention_norm"},
      {"post_attention_layernorm", "ffn_norm"},
      {"mlp.gate_up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
      {"post_mlp_layernorm", "post_ffw_norm"},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    PUNA_TRY(m.rename_layer(l, fmt::format("model.layers.{}.", l), kLayer));
    PUNA_TRY(put_qkv(m, l, How::kSame, How::kSame));
  }
  return {};
}

Result<void> map_hunyuan_dense(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.query_layernorm", "attn_q_norm"},
      {"self_attn.key_layernorm", "attn_k_norm"},
      {"post_attention_layernorm", "ffn_norm"},
  };
  return put_same_layers(m, kLayer);
}

Result<void> map_minicpm(Mapping& m) {
  PUNA_TRY(map_llama(m));
  return put_minicpm_scales(m);
}

Result<void> map_minicpm3(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(c.must_be("hidden_act", "silu"));
  PUNA_TRY(c.must_be("attention_bias", false));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(put_minicpm_scales(m));
  PUNA_TRY(const uint64_t nope, c.count("qk_nope_head_dim"));
  PUNA_TRY(const uint64_t rotary, c.count("qk_rope_head_dim"));
  PUNA_TRY(const uint64_t value,
           c.count("v_head_dim", m.hidden / std::max<uint64_t>(1, m.n_heads)));
  m.set("attention.key_length", nope + rotary);
  m.set("attention.value_length", value);
  constexpr Key kRanks[] = {{"q_lora_rank", "attention.q_lora_rank"},
                            {"kv_lora_rank", "attention.kv_lora_rank"}};
  PUNA_TRY(m.copy(kRanks));
  PUNA_TRY(put_ends(m));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.q_a_proj", "attn_q_a"},
      {"self_attn.q_a_layernorm", "attn_q_a_norm"},
      {"self_attn.q_b_proj", "attn_q_b"},
      {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
      {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
      {"self_attn.kv_b_proj", "attn_kv_b"},
      {"self_attn.o_proj", "attn_output"},
      {"post_attention_layernorm", "ffn_norm"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    PUNA_TRY(m.rename_layer(l, fmt::format("model.layers.{}.", l), kLayer));
  }
  return {};
}

Result<void> map_nemotron(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "relu2"));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(put_half_rotary(m));
  PUNA_TRY(const double eps, m.config().real("norm_eps", 1e-5));
  m.set("attention.layer_norm_epsilon", eps);
  PUNA_TRY(put_ends(m, How::kPlusOne));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    constexpr Rename kNorms[] = {{"input_layernorm", "attn_norm"},
                                 {"post_attention_layernorm", "ffn_norm"}};
    for (const Rename& norm : kNorms) {
      const std::string hf = prefix + std::string(norm.hf);
      const std::string gguf = layer_name(l, norm.gguf);
      PUNA_TRY(m.rename(hf + ".weight", gguf + ".weight", How::kPlusOne));
      PUNA_TRY(m.rename(hf + ".bias", gguf + ".bias"));
    }
    constexpr Rename kOutput[] = {{"self_attn.o_proj", "attn_output"}};
    PUNA_TRY(m.rename_layer(l, prefix, kOutput));
    PUNA_TRY(put_qkv(m, l, How::kSame, How::kSame));
    PUNA_TRY(put_gate_up(m, l));
  }
  return {};
}

Result<void> map_seed_oss(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.o_proj", "attn_output"},
      {"post_attention_layernorm", "post_attention_norm"},
  };
  return put_same_layers(m, kLayer);
}

}  // namespace puna::formats::hf
