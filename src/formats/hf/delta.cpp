// Qwen3-Next and Qwen3.5: layers of the gated delta rule, and one in four of gated attention. What
// lies together by key head is taken apart; Qwen3.5's files have the value heads in turns over the
// key heads, which is the order of GGUF's name for it.

#include <fmt/format.h>

#include <algorithm>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

struct Delta {
  uint64_t n_key_heads = 0, n_value_heads = 0, key_dim = 0, value_dim = 0;
  uint64_t ratio() const { return n_value_heads / n_key_heads; }
  uint64_t key_rows() const { return n_key_heads * key_dim; }
  uint64_t value_rows() const { return n_value_heads * value_dim; }
};

Result<Delta> put_delta_keys(Mapping& m) {
  const Config& c = m.config();
  Delta s;
  PUNA_TRY(s.n_key_heads, c.count("linear_num_key_heads"));
  PUNA_TRY(s.n_value_heads, c.count("linear_num_value_heads"));
  PUNA_TRY(s.key_dim, c.count("linear_key_head_dim"));
  PUNA_TRY(s.value_dim, c.count("linear_value_head_dim"));
  PUNA_TRY(const uint64_t taps, c.count("linear_conv_kernel_dim"));
  if (s.n_key_heads == 0 || s.n_value_heads % s.n_key_heads != 0) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("config.json gives {} value heads over {} key heads, which do "
                                  "not divide.",
                                  s.n_value_heads, s.n_key_heads));
  }
  m.set("ssm.conv_kernel", taps);
  m.set("ssm.state_size", s.key_dim);
  m.set("ssm.group_count", s.n_key_heads);
  m.set("ssm.time_step_rank", s.n_value_heads);
  m.set("ssm.inner_size", s.value_rows());
  PUNA_TRY(const uint64_t interval, c.count("full_attention_interval", 4));
  m.set("full_attention_interval", interval);
  return s;
}

// Rows by key head of q, k, values and z, as q, k and values of all heads, and z of all heads.
Result<void> put_qkvz(Mapping& m, uint32_t l, const std::string& hf, const Delta& s) {
  const uint64_t values = s.ratio() * s.value_dim;
  const uint64_t sizes[] = {s.key_dim, s.key_dim, values, values};
  std::vector<Strided> parts;
  uint64_t first = 0;
  for (const uint64_t n : sizes) {
    PUNA_TRY(Strided part, m.view(hf));
    part.split(0, {s.n_key_heads, 2 * s.key_dim + 2 * values}).slice(1, first, n);
    first += n;
    parts.push_back(std::move(part));
  }
  Strided z = std::move(parts.back());
  parts.pop_back();
  PUNA_TRY(m.put(layer_name(l, "attn_qkv.weight"), std::move(parts),
                 {2 * s.key_rows() + s.value_rows(), m.hidden}));
  return m.put(layer_name(l, "attn_gate.weight"), {std::move(z)}, {s.value_rows(), m.hidden});
}

// Dimension `dim` of value heads of n elements: by key head -> in turns over the key heads.
void in_turns(Strided& view, const Delta& s, size_t dim, uint64_t n) {
  view.split(dim, {s.n_key_heads, s.ratio(), n}).swap(dim, dim + 1);
}

// A tensor whose first rows are of q and k and whose others are of value heads.
Result<void> put_tiled_qkv(Mapping& m, const std::string& hf, std::string gguf, const Delta& s) {
  PUNA_TRY(Strided keys, m.view(hf));
  PUNA_TRY(Strided values, m.view(hf));
  std::vector<uint64_t> shape = keys.tensor().shape;
  if (shape.size() == 3 && shape[1] == 1) shape = {shape[0], shape[2]};
  keys.slice(0, 0, 2 * s.key_rows());
  values.slice(0, 2 * s.key_rows(), s.value_rows());
  in_turns(values, s, 0, s.value_dim);
  std::vector<Strided> parts;
  parts.push_back(std::move(keys));
  parts.push_back(std::move(values));
  return m.put(std::move(gguf), std::move(parts), std::move(shape));
}

Result<void> put_tiled(Mapping& m, const std::string& hf, std::string gguf, const Delta& s,
                       size_t dim, uint64_t n, bool minus_exp = false) {
  PUNA_TRY(Strided view, m.view(hf));
  std::vector<uint64_t> shape = view.tensor().shape;
  in_turns(view, s, dim, n);
  if (minus_exp) view.minus_exp();
  return m.put(std::move(gguf), {std::move(view)}, std::move(shape));
}

// Whether a layer is of the delta rule shows by its tensors.
bool is_delta(Mapping& m, const std::string& prefix) {
  return m.find(prefix + "linear_attn.A_log") != nullptr;
}

constexpr Rename kLayer[] = {
    {"input_layernorm", "attn_norm", How::kPlusOne},
    {"post_attention_layernorm", "post_attention_norm", How::kPlusOne},
    {"self_attn.q_norm", "attn_q_norm", How::kPlusOne},
    {"self_attn.k_norm", "attn_k_norm", How::kPlusOne},
    {"self_attn.o_proj", "attn_output"},
    {"linear_attn.norm", "ssm_norm"},
};

Result<void> put_shared(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(put_ends(m, How::kPlusOne));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    PUNA_TRY(m.rename_layer(l, fmt::format("model.layers.{}.", l), kLayer));
    PUNA_TRY(put_qkv(m, l, How::kSame, How::kSame));
  }
  m.ignore("mtp.");  // predicts further tokens; not used
  return {};
}

constexpr Key kQwen3NextKeys[] = {
    {"num_experts_per_tok", "expert_used_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
    {"shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
};

constexpr Rename kQwen3NextLayer[] = {
    {"linear_attn.in_proj_ba", "ssm_ba"},
    {"linear_attn.out_proj", "ssm_out"},
    {"linear_attn.conv1d", "ssm_conv1d", How::kSqueeze},
    {"mlp.gate", "ffn_gate_inp"},
    {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
    {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
    {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
};

Result<void> put_tiled_layer(Mapping& m, uint32_t l, const std::string& prefix, const Delta& s) {
  const std::string d = prefix + "linear_attn.";
  PUNA_TRY(put_tiled_qkv(m, d + "in_proj_qkv.weight", layer_name(l, "attn_qkv.weight"), s));
  PUNA_TRY(put_tiled_qkv(m, d + "conv1d.weight", layer_name(l, "ssm_conv1d.weight"), s));
  PUNA_TRY(
      put_tiled(m, d + "in_proj_z.weight", layer_name(l, "attn_gate.weight"), s, 0, s.value_dim));
  PUNA_TRY(put_tiled(m, d + "in_proj_a.weight", layer_name(l, "ssm_alpha.weight"), s, 0, 1));
  PUNA_TRY(put_tiled(m, d + "in_proj_b.weight", layer_name(l, "ssm_beta.weight"), s, 0, 1));
  PUNA_TRY(put_tiled(m, d + "dt_bias", layer_name(l, "ssm_dt.bias"), s, 0, 1));
  PUNA_TRY(put_tiled(m, d + "A_log", layer_name(l, "ssm_a"), s, 0, 1, /*minus_exp=*/true));
  return put_tiled(m, d + "out_proj.weight", layer_name(l, "ssm_out.weight"), s, 1, s.value_dim);
}

}  // namespace

Result<void> map_qwen3next(Mapping& m) {
  PUNA_TRY(m.config().must_be("decoder_sparse_step", 1));
  PUNA_TRY(m.config().must_be("mlp_only_layers", base::Json::array()));
  PUNA_TRY(put_shared(m));
  PUNA_TRY(m.copy(kQwen3NextKeys));
  PUNA_TRY(const bool norm, m.config().flag("norm_topk_prob", true));
  m.set("expert_weights_norm", norm);
  PUNA_TRY(const Delta s, put_delta_keys(m));
  PUNA_TRY(const uint64_t n_experts, put_expert_count(m));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kQwen3NextLayer));
    PUNA_TRY(put_experts(m, l, prefix + "mlp.experts", n_experts));
    if (!is_delta(m, prefix)) continue;
    PUNA_TRY(put_qkvz(m, l, prefix + "linear_attn.in_proj_qkvz.weight", s));
    PUNA_TRY(m.rename(prefix + "linear_attn.A_log", layer_name(l, "ssm_a"), How::kMinusExp));
    PUNA_TRY(m.rename(prefix + "linear_attn.dt_bias", layer_name(l, "ssm_dt.bias")));
  }
  return {};
}

Result<void> map_qwen35(Mapping& m) {
  PUNA_TRY(put_shared(m));
  PUNA_TRY(const Delta s, put_delta_keys(m));
  PUNA_TRY(const Config rope, rope_parameters(m, "full_attention"));
  PUNA_TRY(const std::vector<double> sections, rope.reals("mrope_section"));
  // Which pairs turn by which kind of position; for text all kinds are the same.
  std::vector<int64_t> lengths = {11, 11, 10};
  if (!sections.empty()) lengths.assign(sections.begin(), sections.end());
  lengths.resize(4);
  m.set("rope.dimension_sections", std::move(lengths));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(put_gate_up(m, l));
    if (is_delta(m, prefix)) {
      PUNA_TRY(put_tiled_layer(m, l, prefix, s));
    }
  }
  return {};
}

}  // namespace puna::formats::hf
