// Mixtures of experts: Mixtral, Qwen2 and Qwen3, OLMoE, Phi-3.5, gpt-oss, DeepSeek-V2 and V3.

#include <fmt/format.h>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

// The values of ARCH.expert_gating_func.
constexpr uint64_t kSoftmax = 1, kSigmoid = 2;

constexpr Key kQwen3MoeKeys[] = {
    {"num_experts_per_tok", "expert_used_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
};

constexpr Key kQwen2MoeKeys[] = {
    {"num_experts_per_tok", "expert_used_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
    {"shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    {"norm_topk_prob", "expert_weights_norm", Key::Kind::kFlag, false},
};

// All feed-forward blocks are experts, of the size of intermediate_size.
constexpr Key kWholeExpertKeys[] = {
    {"num_experts_per_tok", "expert_used_count"},
    {"norm_topk_prob", "expert_weights_norm", Key::Kind::kFlag, false},
};

constexpr Rename kMoeLayer[] = {
    {"input_layernorm", "attn_norm"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate", "ffn_gate_inp"},
    {"mlp.router", "ffn_gate_inp"},
    {"block_sparse_moe.gate", "ffn_gate_inp"},
    {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
    {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
    {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
};

// Layers whose feed-forward blocks are all experts.
Result<void> put_moe_layers(Mapping& m, How q, How k) {
  PUNA_TRY(const uint64_t n_experts, put_expert_count(m));
  PUNA_TRY(put_ends(m));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kMoeLayer));
    PUNA_TRY(put_qkv(m, l, q, k));
    // Folders of Mixtral and Phi name experts as Mixtral's first did.
    const std::string old = prefix + "block_sparse_moe.experts";
    if (!m.find(old + ".0.w1.weight")) {
      PUNA_TRY(put_experts(m, l, prefix + "mlp.experts", n_experts));
      continue;
    }
    constexpr std::pair<const char*, const char*> kNames[] = {
        {"w1", "ffn_gate_exps"}, {"w3", "ffn_up_exps"}, {"w2", "ffn_down_exps"}};
    for (const auto& [hf, gguf] : kNames) {
      PUNA_TRY(m.stack_experts(old, fmt::format("{}.weight", hf), n_experts,
                               layer_name(l, fmt::format("{}.weight", gguf))));
    }
  }
  return {};
}

constexpr Key kGptOssKeys[] = {
    {"num_local_experts", "expert_count"},
    {"num_experts_per_tok", "expert_used_count"},
    {"intermediate_size", "expert_feed_forward_length"},
    {"sliding_window", "attention.sliding_window"},
};

// gpt-oss has gate and up rows in turns: in a matrix of columns by rows, or as mxfp4 codes.
Result<void> put_gpt_oss_experts(Mapping& m, uint32_t l, const std::string& prefix) {
  const std::string names[] = {layer_name(l, "ffn_gate_exps"), layer_name(l, "ffn_up_exps")};
  const bool codes = m.find(prefix + ".gate_up_proj_blocks") != nullptr;
  const std::string both = prefix + (codes ? ".gate_up_proj_blocks" : ".gate_up_proj");
  for (uint64_t i = 0; i < 2; ++i) {
    PUNA_TRY(Strided weight, m.view(both));
    PUNA_TRY(Strided bias, m.view(prefix + ".gate_up_proj_bias"));
    std::vector<uint64_t> shape = weight.tensor().shape;
    const std::vector<uint64_t> bias_shape = bias.tensor().shape;
    if (shape.size() != 3 || bias_shape.size() != 2) {
      return base::fail(ErrorCode::kCorrupt,
                        fmt::format("Tensor \"{}\" has {} dimensions, not 3.", both, shape.size()));
    }
    if (!codes) {
      weight.swap(1, 2);
      std::swap(shape[1], shape[2]);
    }
    weight.every(1, 2, i);
    bias.every(1, 2, i);
    PUNA_TRY(m.put(names[i] + ".weight", {std::move(weight)}, {shape[0], shape[1] / 2, shape[2]}));
    PUNA_TRY(m.put(names[i] + ".bias", {std::move(bias)}, {bias_shape[0], bias_shape[1] / 2}));
  }
  const std::string down = prefix + (codes ? ".down_proj_blocks" : ".down_proj");
  PUNA_TRY(Strided weight, m.view(down));
  std::vector<uint64_t> shape = weight.tensor().shape;
  if (shape.size() != 3) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("Tensor \"{}\" has {} dimensions, not 3.", down, shape.size()));
  }
  if (!codes) {
    weight.swap(1, 2);
    std::swap(shape[1], shape[2]);
  }
  PUNA_TRY(m.put(layer_name(l, "ffn_down_exps.weight"), {std::move(weight)}, std::move(shape)));
  return m.rename(prefix + ".down_proj_bias", layer_name(l, "ffn_down_exps.bias"));
}

constexpr Key kDeepseekKeys[] = {
    {"kv_lora_rank", "attention.kv_lora_rank"},
    {"q_lora_rank", "attention.q_lora_rank", Key::Kind::kCount, false},
    {"v_head_dim", "attention.value_length_mla"},
    {"n_routed_experts", "expert_count"},
    {"num_experts_per_tok", "expert_used_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
    {"n_shared_experts", "expert_shared_count", Key::Kind::kCount, false},
    {"first_k_dense_replace", "leading_dense_block_count", Key::Kind::kCount, false},
    {"routed_scaling_factor", "expert_weights_scale", Key::Kind::kReal, false},
    {"norm_topk_prob", "expert_weights_norm", Key::Kind::kFlag, false},
};

constexpr Rename kDeepseekLayer[] = {
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.q_a_proj", "attn_q_a"},
    {"self_attn.q_a_layernorm", "attn_q_a_norm"},
    {"self_attn.q_b_proj", "attn_q_b"},
    {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
    {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
    {"self_attn.o_proj", "attn_output"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate", "ffn_gate_inp"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
    {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
};

struct Latent {
  uint64_t rank = 0, nope = 0, rotary = 0, value = 0;
};

// kv_b as the two matrices that latent attention multiplies by: keys [heads, rank, nope], turned
// over, and values [heads, value, rank].
Result<void> put_latent(Mapping& m, uint32_t l, const std::string& hf, const Latent& s) {
  PUNA_TRY(Strided keys, m.view(hf));
  PUNA_TRY(Strided values, m.view(hf));
  keys.split(0, {m.n_heads, s.nope + s.value}).slice(1, 0, s.nope).swap(1, 2);
  values.split(0, {m.n_heads, s.nope + s.value}).slice(1, s.nope, s.value);
  // A head at a time, so that one is what is held while it is turned over.
  std::vector<Strided> heads;
  for (uint64_t h = 0; h < m.n_heads && keys.check(); ++h) {
    heads.push_back(keys);
    heads.back().slice(0, h, 1);
  }
  if (heads.empty()) heads.push_back(keys);
  PUNA_TRY(m.put(layer_name(l, "attn_k_b.weight"), std::move(heads), {m.n_heads, s.rank, s.nope}));
  return m.put(layer_name(l, "attn_v_b.weight"), {std::move(values)}, {m.n_heads, s.value, s.rank});
}

Result<void> put_deepseek(Mapping& m, uint64_t gating) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(m.config().must_be("moe_layer_freq", 1));
  PUNA_TRY(m.config().must_be("attention_bias", false));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(m.copy(kDeepseekKeys));
  Latent s;
  PUNA_TRY(s.rank, m.config().count("kv_lora_rank"));
  PUNA_TRY(s.nope, m.config().count("qk_nope_head_dim"));
  PUNA_TRY(s.rotary, m.config().count("qk_rope_head_dim"));
  PUNA_TRY(s.value, m.config().count("v_head_dim"));
  PUNA_TRY(const uint64_t n_experts, m.config().count("n_routed_experts"));
  PUNA_TRY(const uint64_t n_dense, m.config().count("first_k_dense_replace", 0));
  // The cache holds one row a token for all heads: as with one KV head of that size.
  m.set("attention.head_count_kv", uint64_t{1});
  m.set("attention.key_length", s.rank + s.rotary);
  m.set("attention.value_length", s.rank);
  m.set("attention.key_length_mla", s.nope + s.rotary);
  m.set("expert_gating_func", gating);
  PUNA_TRY(put_ends(m));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kDeepseekLayer));
    PUNA_TRY(
        m.rename(prefix + "mlp.gate.e_score_correction_bias", layer_name(l, "exp_probs_b.bias")));
    PUNA_TRY(put_latent(m, l, prefix + "self_attn.kv_b_proj.weight", s));
    if (l >= n_dense) {
      PUNA_TRY(put_experts(m, l, prefix + "mlp.experts", n_experts));
    }
  }
  // Layers behind the last predict further tokens; they are not used.
  PUNA_TRY(const uint64_t n_further, m.config().count("num_nextn_predict_layers", 0));
  for (uint64_t l = 0; l < n_further && l < 16; ++l)
    m.ignore(fmt::format("model.layers.{}.", m.n_layers + l));
  return {};
}

}  // namespace

Result<void> put_granite_ffn(Mapping& m, uint32_t l, const std::string& prefix, bool has_experts) {
  const std::string shared = prefix + "shared_mlp.";
  const std::string end = has_experts ? "_shexp.weight" : ".weight";
  if (m.find(shared + "input_linear.weight")) {
    PUNA_TRY(put_halves(m, shared + "input_linear.weight", layer_name(l, "ffn_gate" + end),
                        layer_name(l, "ffn_up" + end)));
    PUNA_TRY(m.rename(shared + "output_linear.weight", layer_name(l, "ffn_down" + end)));
  }
  if (!has_experts) return {};
  const std::string moe = prefix + "block_sparse_moe.";
  PUNA_TRY(m.rename(moe + "router.layer.weight", layer_name(l, "ffn_gate_inp.weight")));
  PUNA_TRY(put_halves(m, moe + "input_linear.weight", layer_name(l, "ffn_gate_exps.weight"),
                      layer_name(l, "ffn_up_exps.weight")));
  return m.rename(moe + "output_linear.weight", layer_name(l, "ffn_down_exps.weight"));
}

Result<void> map_qwen3moe(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(m.config().must_be("decoder_sparse_step", 1));
  PUNA_TRY(m.config().must_be("mlp_only_layers", base::Json::array()));
  PUNA_TRY(m.config().must_be("use_sliding_window", false));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(m.copy(kQwen3MoeKeys));
  PUNA_TRY(const bool norm, m.config().flag("norm_topk_prob", false));
  m.set("expert_weights_norm", norm);
  PUNA_TRY(const uint64_t n_experts, put_expert_count(m));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},         {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},      {"self_attn.k_norm", "attn_k_norm"},
      {"post_attention_layernorm", "ffn_norm"}, {"mlp.gate", "ffn_gate_inp"},
  };
  PUNA_TRY(put_ends(m));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    PUNA_TRY(put_qkv(m, l, How::kSame, How::kSame));
    PUNA_TRY(put_experts(m, l, prefix + "mlp.experts", n_experts));
  }
  return {};
}

Result<void> map_qwen2moe(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(m.config().must_be("decoder_sparse_step", 1));
  PUNA_TRY(m.config().must_be("mlp_only_layers", base::Json::array()));
  PUNA_TRY(m.config().must_be("use_sliding_window", false));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(m.copy(kQwen2MoeKeys));
  return put_moe_layers(m, How::kSame, How::kSame);
}

Result<void> map_mixtral(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(bound_by_window(m));
  PUNA_TRY(m.copy(kWholeExpertKeys));
  return put_moe_layers(m, How::kPairsQ, How::kPairsK);
}

Result<void> map_olmoe(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(m.config().must_be("clip_qkv", base::Json()));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(m.copy(kWholeExpertKeys));
  return put_moe_layers(m, How::kSame, How::kSame);
}

Result<void> map_phimoe(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(m.config().must_be("num_experts_per_tok", 2));
  PUNA_TRY(m.config().must_be("router_jitter_noise", 0.01));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(bound_by_window(m));
  PUNA_TRY(m.copy(kWholeExpertKeys));
  return put_moe_layers(m, How::kSame, How::kSame);
}

Result<void> map_gpt_oss(Mapping& m) {
  PUNA_TRY(m.config().must_be("swiglu_alpha", 1.702));
  PUNA_TRY(m.config().must_be("swiglu_limit", 7.0));
  PUNA_TRY(check_layer_types(m, "sliding_attention", [](uint32_t l) { return l % 2 == 0; }));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(m.copy(kGptOssKeys));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.o_proj", "attn_output"},
      {"post_attention_layernorm", "post_attention_norm"},
      {"mlp.router", "ffn_gate_inp"},
  };
  PUNA_TRY(put_ends(m));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    PUNA_TRY(m.rename(prefix + "self_attn.sinks", layer_name(l, "attn_sinks.weight")));
    PUNA_TRY(put_qkv(m, l, How::kSame, How::kSame));
    PUNA_TRY(put_gpt_oss_experts(m, l, prefix + "mlp.experts"));
  }
  return {};
}

Result<void> map_deepseek2(Mapping& m) {
  // Groups of V2 are chosen by their best expert, which the router of src/models does not do.
  PUNA_TRY(m.config().must_be("topk_method", "greedy"));
  PUNA_TRY(m.config().must_be("norm_topk_prob", false));
  return put_deepseek(m, kSoftmax);
}

Result<void> map_deepseek3(Mapping& m) {
  PUNA_TRY(m.config().must_be("topk_method", "noaux_tc"));
  PUNA_TRY(m.config().must_be("scoring_func", "sigmoid"));
  PUNA_TRY(m.config().must_be("rope_interleave", true));
  PUNA_TRY(put_deepseek(m, kSigmoid));
  constexpr Key kGroups[] = {
      {"n_group", "expert_group_count", Key::Kind::kCount, false},
      {"topk_group", "expert_group_used_count", Key::Kind::kCount, false},
  };
  return m.copy(kGroups);
}

}  // namespace puna::formats::hf
