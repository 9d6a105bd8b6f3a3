// Models of Mamba layers: Mamba, Falcon Mamba, and Jamba, which has attention and experts beside
// them. Mamba-2 is in recurrent.cpp.

#include <fmt/format.h>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

// What config.json calls the sizes of a Mamba layer.
struct MambaNames {
  std::string_view state, conv, expand, rank;
};

// A rank of "auto" is a sixteenth of the width.
Result<uint64_t> rank_of(const Mapping& m, std::string_view key) {
  const uint64_t usual = (m.hidden + 15) / 16;
  const base::Json* value = m.config().find(key);
  if (value && *value == base::Json("auto")) return usual;
  return m.config().count(key, usual);
}

Result<void> put_mamba_keys(Mapping& m, const MambaNames& names) {
  const Config& c = m.config();
  PUNA_TRY(const uint64_t n_state, c.count(names.state, 16));
  PUNA_TRY(const uint64_t taps, c.count(names.conv, 4));
  PUNA_TRY(const uint64_t expand, c.count(names.expand, 2));
  PUNA_TRY(const uint64_t rank, rank_of(m, names.rank));
  m.set("ssm.conv_kernel", taps);
  m.set("ssm.inner_size", expand * m.hidden);
  m.set("ssm.state_size", n_state);
  m.set("ssm.time_step_rank", rank);
  return {};
}

// What a layer has under "backbone.layers.3.mixer".
Result<void> put_mamba(Mapping& m, uint32_t l, const std::string& prefix) {
  constexpr Rename kLayer[] = {
      {"in_proj", "ssm_in"},
      {"conv1d", "ssm_conv1d", How::kSqueeze},
      {"x_proj", "ssm_x"},
      {"dt_proj", "ssm_dt"},
      {"dt_layernorm", "ssm_dt_norm"},
      {"b_layernorm", "ssm_b_norm"},
      {"c_layernorm", "ssm_c_norm"},
      {"out_proj", "ssm_out"},
  };
  PUNA_TRY(m.rename_layer(l, prefix + ".", kLayer));
  PUNA_TRY(m.rename(prefix + ".A_log", layer_name(l, "ssm_a"), How::kMinusExp));
  return m.rename(prefix + ".D", layer_name(l, "ssm_d"));
}

}  // namespace

Result<void> map_mamba(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(c.must_be("hidden_act", "silu"));
  PUNA_TRY(put_state_space_model(m));
  PUNA_TRY(put_mamba_keys(m, {"state_size", "conv_kernel", "expand", "time_step_rank"}));
  // Some files give the width itself.
  if (c.has("intermediate_size")) {
    PUNA_TRY(const uint64_t inner, c.count("intermediate_size"));
    m.set("ssm.inner_size", inner);
  }
  constexpr Rename kLayer[] = {{"norm", "attn_norm"}};
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("backbone.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    PUNA_TRY(put_mamba(m, l, prefix + "mixer"));
  }
  return {};
}

Result<void> map_falcon_mamba(Mapping& m) {
  PUNA_TRY(map_mamba(m));
  PUNA_TRY(const double eps, m.config().real("mixer_rms_eps", 1e-6));
  m.set("ssm.dt_b_c_rms", true);
  m.set("ssm.dt_b_c_rms_epsilon", eps);
  return {};
}

Result<void> map_jamba(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(c.must_be("hidden_act", "silu"));
  PUNA_TRY(c.must_be("mamba_proj_bias", false));
  PUNA_TRY(c.must_be("sliding_window", base::Json()));
  PUNA_TRY(put_size_keys(m));
  PUNA_TRY(put_mamba_keys(m, {"mamba_d_state", "mamba_d_conv", "mamba_expand", "mamba_dt_rank"}));
  PUNA_TRY(const uint64_t n_experts, c.count("num_experts", 16));
  PUNA_TRY(const uint64_t n_used, c.count("num_experts_per_tok", 2));
  m.set("expert_count", n_experts);
  m.set("expert_used_count", n_used);
  PUNA_TRY(put_ends(m, How::kSame, "model.final_layernorm"));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},       {"self_attn.o_proj", "attn_output"},
      {"pre_ff_layernorm", "ffn_norm"},       {"feed_forward.router", "ffn_gate_inp"},
      {"feed_forward.gate_proj", "ffn_gate"}, {"feed_forward.up_proj", "ffn_up"},
      {"feed_forward.down_proj", "ffn_down"},
  };
  std::vector<uint64_t> kv_heads;
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    const bool attends = m.find(prefix + "self_attn.q_proj.weight") != nullptr;
    kv_heads.push_back(attends ? m.n_kv_heads : 0);
    if (attends) {
      PUNA_TRY(put_qkv(m, l, How::kSame, How::kSame));
    } else {
      PUNA_TRY(put_mamba(m, l, prefix + "mamba"));
    }
    if (m.find(prefix + "feed_forward.router.weight")) {
      PUNA_TRY(put_experts(m, l, prefix + "feed_forward.experts", n_experts));
    }
  }
  m.set("attention.head_count_kv", std::move(kv_heads));
  return {};
}

}  // namespace puna::formats::hf
