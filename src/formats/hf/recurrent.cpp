// Models whose layers keep a state: Mamba-2, Falcon-H1, Granite 4 hybrid, LFM2, Nemotron-H. Qwen's
// gated delta rule is in delta.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

// Sizes of a Mamba-2 layer.
struct Mamba2 {
  uint64_t n_heads = 0, head_dim = 0, n_state = 0, n_groups = 0, taps = 0;
  uint64_t inner() const { return n_heads * head_dim; }
};

void put_mamba2_keys(Mapping& m, const Mamba2& s) {
  m.set("ssm.conv_kernel", s.taps);
  m.set("ssm.inner_size", s.inner());
  m.set("ssm.state_size", s.n_state);
  m.set("ssm.time_step_rank", s.n_heads);
  m.set("ssm.group_count", s.n_groups);
}

// The keys that models with other layers beside Mamba-2 put "mamba_" before.
Result<Mamba2> read_mamba_sizes(const Mapping& m) {
  const Config& c = m.config();
  Mamba2 s;
  PUNA_TRY(s.n_heads, c.count("mamba_n_heads"));
  PUNA_TRY(s.n_state, c.count("mamba_d_state"));
  PUNA_TRY(s.n_groups, c.count("mamba_n_groups"));
  PUNA_TRY(s.taps, c.count("mamba_d_conv"));
  PUNA_TRY(const uint64_t expand, c.count("mamba_expand", 2));
  PUNA_TRY(const uint64_t inner, c.count("mamba_d_ssm", expand * m.hidden));
  if (const base::Json* dim = c.find("mamba_d_head"); dim && dim->is_integer()) {
    PUNA_TRY(s.head_dim, c.count("mamba_d_head"));
  } else {
    s.head_dim = s.n_heads > 0 ? inner / s.n_heads : 0;
  }
  if (s.inner() != inner || inner == 0) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("config.json gives {} Mamba heads of {} elements, which is not "
                                  "{} together.",
                                  s.n_heads, s.head_dim, inner));
  }
  return s;
}

// What all Mamba-2 layers have but for the projections, under "model.layers.3.mamba".
Result<void> put_mamba2(Mapping& m, uint32_t l, const std::string& prefix, const Mamba2& s) {
  PUNA_TRY(m.rename(prefix + ".conv1d.weight", layer_name(l, "ssm_conv1d.weight"), How::kSqueeze));
  PUNA_TRY(m.rename(prefix + ".conv1d.bias", layer_name(l, "ssm_conv1d.bias")));
  PUNA_TRY(m.rename(prefix + ".dt_bias", layer_name(l, "ssm_dt.bias")));
  PUNA_TRY(Strided a, m.view(prefix + ".A_log"));
  PUNA_TRY(m.put(layer_name(l, "ssm_a"), {std::move(a.minus_exp())}, {s.n_heads, 1}));
  PUNA_TRY(Strided d, m.view(prefix + ".D"));
  PUNA_TRY(m.put(layer_name(l, "ssm_d"), {std::move(d)}, {s.n_heads, 1}));
  if (!m.find(prefix + ".norm.weight")) return {};
  PUNA_TRY(Strided norm, m.view(prefix + ".norm.weight"));
  return m.put(layer_name(l, "ssm_norm.weight"), {std::move(norm)},
               {s.n_groups, s.inner() / std::max<uint64_t>(1, s.n_groups)});
}

Result<void> put_scaled(Mapping& m, const std::string& hf, std::string gguf, double factor) {
  PUNA_TRY(Strided view, m.view(hf));
  std::vector<uint64_t> shape = view.tensor().shape;
  return m.put(std::move(gguf), {std::move(view.times(factor))}, std::move(shape));
}

// Falcon-H1's multipliers, which GGUF has in the weights.
struct Multipliers {
  double embedding, head, attention_in, attention_out, key, ssm_in, ssm_out;
  std::vector<double> mlp, ssm;
};

Result<Multipliers> read_multipliers(const Config& c) {
  Multipliers x{};
  const std::pair<const char*, double*> reals[] = {{"embedding_multiplier", &x.embedding},
                                                   {"lm_head_multiplier", &x.head},
                                                   {"attention_in_multiplier", &x.attention_in},
                                                   {"attention_out_multiplier", &x.attention_out},
                                                   {"key_multiplier", &x.key},
                                                   {"ssm_in_multiplier", &x.ssm_in},
                                                   {"ssm_out_multiplier", &x.ssm_out}};
  for (const auto& [key, out] : reals) {
    PUNA_TRY(*out, c.real(key, 1.0));
  }
  PUNA_TRY(x.mlp, c.reals("mlp_multipliers"));
  PUNA_TRY(x.ssm, c.reals("ssm_multipliers"));
  if (x.mlp.empty()) x.mlp.assign(2, 1.0);
  if (x.ssm.empty()) x.ssm.assign(5, 1.0);
  if (x.mlp.size() != 2 || x.ssm.size() != 5) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("config.json lists {} \"mlp_multipliers\" and {} "
                                  "\"ssm_multipliers\"; 2 and 5 are expected.",
                                  x.mlp.size(), x.ssm.size()));
  }
  return x;
}

// The rows of z, x, B, C and dt have a multiplier each.
Result<void> put_falcon_projection(Mapping& m, uint32_t l, const std::string& hf, const Mamba2& s,
                                   const Multipliers& x) {
  const uint64_t rows[] = {s.inner(), s.inner(), s.n_groups * s.n_state, s.n_groups * s.n_state,
                           s.n_heads};
  std::vector<Strided> parts;
  uint64_t first = 0;
  for (size_t i = 0; i < std::size(rows); ++i) {
    PUNA_TRY(Strided part, m.view(hf));
    part.slice(0, first, rows[i]).times(x.ssm_in).times(x.ssm[i]);
    first += rows[i];
    parts.push_back(std::move(part));
  }
  return m.put(layer_name(l, "ssm_in.weight"), std::move(parts), {first, m.hidden});
}

Result<void> put_falcon_layer(Mapping& m, uint32_t l, const Mamba2& s, const Multipliers& x) {
  const std::string prefix = fmt::format("model.layers.{}.", l);
  const std::tuple<const char*, const char*, double> scaled[] = {
      {"self_attn.q_proj", "attn_q", x.attention_in},
      {"self_attn.k_proj", "attn_k", x.attention_in * x.key},
      {"self_attn.v_proj", "attn_v", x.attention_in},
      {"self_attn.o_proj", "attn_output", x.attention_out},
      {"feed_forward.gate_proj", "ffn_gate", x.mlp[0]},
      {"feed_forward.up_proj", "ffn_up", 1.0},
      {"feed_forward.down_proj", "ffn_down", x.mlp[1]},
      {"mamba.out_proj", "ssm_out", x.ssm_out}};
  for (const auto& [hf, gguf, factor] : scaled) {
    PUNA_TRY(put_scaled(m, prefix + hf + ".weight", layer_name(l, std::string(gguf) + ".weight"),
                        factor));
  }
  PUNA_TRY(m.rename(prefix + "input_layernorm.weight", layer_name(l, "attn_norm.weight")));
  // GGUF's name of this norm has no ".weight".
  PUNA_TRY(m.rename(prefix + "pre_ff_layernorm.weight", layer_name(l, "ffn_norm")));
  PUNA_TRY(put_falcon_projection(m, l, prefix + "mamba.in_proj.weight", s, x));
  return put_mamba2(m, l, prefix + "mamba", s);
}

constexpr Key kGraniteHybridKeys[] = {
    {"embedding_multiplier", "embedding_scale", Key::Kind::kReal, false},
    {"attention_multiplier", "attention.scale", Key::Kind::kReal, false},
    {"residual_multiplier", "residual_scale", Key::Kind::kReal, false},
    {"logits_scaling", "logit_scale", Key::Kind::kReal, false},
    {"num_local_experts", "expert_count", Key::Kind::kCount, false},
    {"num_experts_per_tok", "expert_used_count", Key::Kind::kCount, false},
    {"shared_intermediate_size", "expert_shared_feed_forward_length", Key::Kind::kCount, false},
};

// Which layers keep a state instead of attending, by the word that config.json has for it; sets the
// KV heads of each, 0 for those.
Result<std::vector<bool>> put_layer_kinds(Mapping& m, std::span<const std::string_view> states) {
  PUNA_TRY(const std::vector<std::string> types, m.config().texts("layer_types"));
  if (types.size() != m.n_layers) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"layer_types\" of config.json lists {} layers of {}.",
                                  types.size(), m.n_layers));
  }
  std::vector<bool> keeps;
  std::vector<uint64_t> kv_heads;
  for (const std::string& type : types) {
    keeps.push_back(std::ranges::find(states, std::string_view(type)) != states.end());
    kv_heads.push_back(keeps.back() ? 0 : m.n_kv_heads);
  }
  m.set("attention.head_count_kv", std::move(kv_heads));
  return keeps;
}

// What each layer of Nemotron-H is, "mamba", "attention" or "mlp", by a list of words or a pattern
// of characters; n_layers is as many.
Result<std::vector<std::string>> nemotron_kinds(Mapping& m) {
  std::vector<std::string> kinds;
  for (const char* key : {"layer_types", "layers_block_type"}) {
    if (!kinds.empty()) break;
    PUNA_TRY(kinds, m.config().texts(key));
  }
  PUNA_TRY(const std::string pattern, m.config().text("hybrid_override_pattern", ""));
  for (size_t i = 0; kinds.size() < pattern.size() && kinds.size() == i; ++i)
    kinds.emplace_back(1, pattern[i]);
  for (std::string& kind : kinds) {
    const bool mamba = kind == "M" || kind == "mamba" || kind == "linear_attention";
    const bool attention = kind == "*" || kind == "attention" || kind == "full_attention";
    if (!mamba && !attention && kind != "-" && kind != "mlp") {
      return base::fail(ErrorCode::kUnsupported,
                        fmt::format("config.json has a layer of the kind \"{}\"; mamba, attention "
                                    "and mlp are supported for this model.",
                                    kind));
    }
    kind = mamba ? "mamba" : attention ? "attention" : "mlp";
  }
  PUNA_TRY(const uint64_t n_layers, m.config().count("num_hidden_layers", kinds.size()));
  if (kinds.empty() || kinds.size() != n_layers) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("config.json tells the kinds of {} layers of {}.", kinds.size(), n_layers));
  }
  return kinds;
}

}  // namespace

Result<void> map_mamba2(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(put_state_space_model(m));
  Mamba2 s;
  PUNA_TRY(s.n_heads, c.count("num_heads"));
  PUNA_TRY(s.head_dim, c.count("head_dim"));
  PUNA_TRY(s.n_state, c.count("state_size"));
  PUNA_TRY(s.n_groups, c.count("n_groups"));
  PUNA_TRY(s.taps, c.count("conv_kernel", 4));
  put_mamba2_keys(m, s);
  constexpr Rename kLayer[] = {
      {"norm", "attn_norm"}, {"mixer.in_proj", "ssm_in"}, {"mixer.out_proj", "ssm_out"}};
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("backbone.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    PUNA_TRY(put_mamba2(m, l, prefix + "mixer", s));
  }
  return {};
}

Result<void> map_falcon_h1(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(c.must_be("hidden_act", "silu"));
  PUNA_TRY(c.must_be("mamba_norm_before_gate", false));
  for (const char* key : {"attention_bias", "mlp_bias", "projectors_bias", "mamba_proj_bias"}) {
    PUNA_TRY(c.must_be(key, false));
  }
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(const Mamba2 s, read_mamba_sizes(m));
  put_mamba2_keys(m, s);
  PUNA_TRY(const Multipliers x, read_multipliers(c));
  PUNA_TRY(put_scaled(m, "model.embed_tokens.weight", "token_embd.weight", x.embedding));
  PUNA_TRY(m.rename("model.final_layernorm.weight", "output_norm.weight"));
  // Tied embeddings have two multipliers, so the output layer is written apart.
  PUNA_TRY(const bool tied, c.flag("tie_word_embeddings", false));
  if (tied) m.ignore("lm_head.");
  PUNA_TRY(put_scaled(m, tied ? "model.embed_tokens.weight" : "lm_head.weight", "output.weight",
                      x.head));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    PUNA_TRY(put_falcon_layer(m, l, s, x));
  }
  return {};
}

Result<void> map_granite_hybrid(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(c.must_be("hidden_act", "silu"));
  PUNA_TRY(c.must_be("mamba_proj_bias", false));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(m.copy(kGraniteHybridKeys));
  constexpr std::string_view kStates[] = {"mamba", "linear_attention"};
  PUNA_TRY(const std::vector<bool> keeps, put_layer_kinds(m, kStates));
  PUNA_TRY(const Mamba2 s, read_mamba_sizes(m));
  put_mamba2_keys(m, s);
  const base::Json* positions = c.find("position_embedding_type");
  m.set("rope.scaling.finetuned", !positions || *positions == base::Json("rope"));
  PUNA_TRY(const uint64_t n_experts, c.count("num_local_experts", 0));
  if (n_experts == 0) {
    PUNA_TRY(const uint64_t ffn, c.count("shared_intermediate_size"));
    m.set("feed_forward_length", ffn);
  }
  PUNA_TRY(put_ends(m));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},    {"post_attention_layernorm", "ffn_norm"},
      {"self_attn.o_proj", "attn_output"}, {"mamba.in_proj", "ssm_in"},
      {"mamba.out_proj", "ssm_out"},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    if (keeps[l]) {
      PUNA_TRY(put_mamba2(m, l, prefix + "mamba", s));
    } else {
      PUNA_TRY(put_qkv(m, l, How::kPairsQ, How::kPairsK));
    }
    PUNA_TRY(put_granite_ffn(m, l, prefix, n_experts > 0));
  }
  return {};
}

Result<void> map_lfm2(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(c.must_be("conv_bias", false));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(const double eps, c.real("norm_eps", 1e-5));
  m.set("attention.layer_norm_rms_epsilon", eps);
  PUNA_TRY(const uint64_t taps, c.count("conv_L_cache"));
  m.set("shortconv.l_cache", taps);
  constexpr std::string_view kStates[] = {"conv"};
  PUNA_TRY(const std::vector<bool> keeps, put_layer_kinds(m, kStates));
  PUNA_TRY(m.rename("model.embed_tokens.weight", "token_embd.weight"));
  PUNA_TRY(m.rename("model.embedding_norm.weight", "token_embd_norm.weight"));
  m.config().usually("tie_word_embeddings", true);
  PUNA_TRY(put_output(m));
  constexpr Rename kLayer[] = {
      {"operator_norm", "attn_norm"},
      {"ffn_norm", "ffn_norm"},
      {"self_attn.q_layernorm", "attn_q_norm"},
      {"self_attn.k_layernorm", "attn_k_norm"},
      {"self_attn.out_proj", "attn_output"},
      {"feed_forward.w1", "ffn_gate"},
      {"feed_forward.w3", "ffn_up"},
      {"feed_forward.w2", "ffn_down"},
      {"conv.in_proj", "shortconv.in_proj"},
      {"conv.out_proj", "shortconv.out_proj"},
      {"conv.conv", "shortconv.conv", How::kSqueeze},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    PUNA_TRY(m.rename_layer(l, fmt::format("model.layers.{}.", l), kLayer));
    if (!keeps[l]) {
      PUNA_TRY(put_qkv(m, l, How::kSame, How::kSame));
    }
  }
  // The width of the feed-forward block follows from other keys by a rule; the weight knows it.
  if (const RawTensor* gate = m.find("model.layers.0.feed_forward.w1.weight");
      gate && !gate->shape.empty())
    m.set("feed_forward_length", gate->shape[0]);
  return {};
}

Result<void> map_nemotron_h(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(c.must_be("mlp_hidden_act", "relu2"));
  PUNA_TRY(c.must_be("mamba_hidden_act", "silu"));
  PUNA_TRY(c.must_be("mamba_proj_bias", false));
  PUNA_TRY(c.must_be("use_bias", false));
  PUNA_TRY(const std::vector<std::string> kinds, nemotron_kinds(m));
  m.assume("num_hidden_layers", static_cast<int64_t>(kinds.size()));
  PUNA_TRY(put_decoder_keys(m));
  Mamba2 s;
  PUNA_TRY(s.n_heads, c.count("mamba_num_heads"));
  PUNA_TRY(s.head_dim, c.count("mamba_head_dim"));
  PUNA_TRY(s.n_state, c.count("ssm_state_size"));
  PUNA_TRY(s.n_groups, c.count("n_groups"));
  PUNA_TRY(s.taps, c.count("conv_kernel", 4));
  put_mamba2_keys(m, s);
  PUNA_TRY(const double eps, c.real("layer_norm_epsilon", 1e-5));
  PUNA_TRY(const uint64_t ffn, c.count("intermediate_size"));
  m.set("attention.layer_norm_epsilon", eps);
  m.set("attention.layer_norm_rms_epsilon", eps);
  std::vector<uint64_t> kv_heads, widths;
  for (const std::string& kind : kinds) {
    kv_heads.push_back(kind == "attention" ? m.n_kv_heads : 0);
    widths.push_back(kind == "mlp" ? ffn : 0);
  }
  m.set("attention.head_count_kv", std::move(kv_heads));
  m.set("feed_forward_length", std::move(widths));
  PUNA_TRY(m.rename("backbone.embeddings.weight", "token_embd.weight"));
  PUNA_TRY(m.rename("backbone.norm_f.weight", "output_norm.weight"));
  PUNA_TRY(put_output(m));
  constexpr Rename kLayer[] = {
      {"norm", "attn_norm"},           {"mixer.in_proj", "ssm_in"}, {"mixer.out_proj", "ssm_out"},
      {"mixer.q_proj", "attn_q"},      {"mixer.k_proj", "attn_k"},  {"mixer.v_proj", "attn_v"},
      {"mixer.o_proj", "attn_output"}, {"mixer.up_proj", "ffn_up"}, {"mixer.down_proj", "ffn_down"},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("backbone.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    if (kinds[l] == "mamba") {
      PUNA_TRY(put_mamba2(m, l, prefix + "mixer", s));
    }
  }
  m.ignore("mtp.");  // predicts further tokens; not used
  return {};
}

}  // namespace puna::formats::hf
