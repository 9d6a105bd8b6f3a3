// More mixtures of experts: ERNIE 4.5, GLM-4.5, Granite, Hunyuan, Llama 4. Read first: experts.cpp.

#include <fmt/format.h>

#include <cmath>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr uint64_t kSigmoid = 2;  // of ARCH.expert_gating_func

constexpr Key kErnieKeys[] = {
    {"moe_num_experts", "expert_count"},
    {"moe_k", "expert_used_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
    {"moe_num_shared_experts", "expert_shared_count", Key::Kind::kCount, false},
};

constexpr Key kGlmKeys[] = {
    {"n_routed_experts", "expert_count"},
    {"num_experts_per_tok", "expert_used_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
    {"n_shared_experts", "expert_shared_count"},
    {"first_k_dense_replace", "leading_dense_block_count", Key::Kind::kCount, false},
    {"routed_scaling_factor", "expert_weights_scale", Key::Kind::kReal, false},
    {"n_group", "expert_group_count", Key::Kind::kCount, false},
    {"topk_group", "expert_group_used_count", Key::Kind::kCount, false},
};

constexpr Key kGraniteKeys[] = {
    {"embedding_multiplier", "embedding_scale", Key::Kind::kReal, false},
    {"attention_multiplier", "attention.scale", Key::Kind::kReal, false},
    {"residual_multiplier", "residual_scale", Key::Kind::kReal, false},
    {"logits_scaling", "logit_scale", Key::Kind::kReal, false},
    {"num_local_experts", "expert_count"},
    {"num_experts_per_tok", "expert_used_count"},
    {"shared_intermediate_size", "expert_shared_feed_forward_length", Key::Kind::kCount, false},
};

// Llama 4 has gate columns, then up columns, a row of the input each; GGUF has them turned over.
Result<void> put_llama4_experts(Mapping& m, uint32_t l, const std::string& prefix) {
  const std::string both = prefix + ".gate_up_proj", down = prefix + ".down_proj";
  const std::string names[] = {layer_name(l, "ffn_gate_exps.weight"),
                               layer_name(l, "ffn_up_exps.weight")};
  for (uint64_t i = 0; i < 2; ++i) {
    PUNA_TRY(Strided view, m.view(both));
    std::vector<uint64_t> shape = view.tensor().shape;
    if (shape.size() != 3 || shape[2] % 2 != 0) {
      return base::fail(ErrorCode::kCorrupt,
                        fmt::format("Tensor \"{}\" has no two halves of columns.", both));
    }
    const uint64_t ffn = shape[2] / 2;
    view.slice(2, i * ffn, ffn).swap(1, 2);
    PUNA_TRY(m.put(names[i], {std::move(view)}, {shape[0], ffn, shape[1]}));
  }
  PUNA_TRY(Strided view, m.view(down));
  std::vector<uint64_t> shape = view.tensor().shape;
  if (shape.size() != 3) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("Tensor \"{}\" has {} dimensions, not 3.", down, shape.size()));
  }
  view.swap(1, 2);
  return m.put(layer_name(l, "ffn_down_exps.weight"), {std::move(view)},
               {shape[0], shape[2], shape[1]});
}

// Where a layer does not turn, in the order that files of GGUF are read by: every fourth.
Result<void> check_llama4_layers(const Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(check_layer_types(m, "chunked_attention", [](uint32_t l) { return (l + 1) % 4 != 0; }));
  const base::Json* turns = c.find("no_rope_layers");
  for (size_t l = 0; turns && turns->is_array() && l < turns->items().size(); ++l) {
    const base::Json& on = turns->items()[l];
    if (on.is_integer() && (on.integer() != 0) == ((l + 1) % 4 != 0)) continue;
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The key \"no_rope_layers\" of config.json has {} for layer {}; "
                                  "every fourth layer is expected to have no positions.",
                                  on.dump(), l));
  }
  return {};
}

// A key of each layer's number, which is one and the same.
Result<uint64_t> same_count(const Config& c, std::string_view key) {
  const base::Json* value = c.find(key);
  if (!value || !value->is_array()) return c.count(key);
  PUNA_TRY(const std::vector<double> all, c.reals(key));
  for (const double n : all) {
    if (n == all.front() && n >= 0 && n < 1 << 20) continue;
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The key \"{}\" of config.json is {}; one number for all layers "
                                  "is supported.",
                                  key, value->dump()));
  }
  if (all.empty()) return uint64_t{0};
  return static_cast<uint64_t>(all.front());
}

}  // namespace

Result<void> map_ernie4_5_moe(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(c.must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(m.copy(kErnieKeys));
  PUNA_TRY(const uint64_t n_experts, c.count("moe_num_experts"));
  PUNA_TRY(const uint64_t every, c.count("moe_layer_interval", 1));
  PUNA_TRY(const uint64_t first, c.count("moe_layer_start_index", 1));
  if (const base::Json* last = c.find("moe_layer_end_index");
      last && *last != base::Json(-1) && *last != base::Json(int64_t{m.n_layers} - 1)) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The key \"moe_layer_end_index\" of config.json is {}; only the "
                                  "last layer of {} is supported.",
                                  last->dump(), m.n_layers));
  }
  PUNA_TRY(const uint64_t shared, c.count("moe_num_shared_experts", 0));
  PUNA_TRY(const uint64_t ffn, c.count("moe_intermediate_size"));
  m.set("interleave_moe_layer_step", every);
  m.set("leading_dense_block_count", first);
  if (shared > 0 && shared < 1 << 12) m.set("expert_shared_feed_forward_length", shared * ffn);
  m.config().usually("tie_word_embeddings", true);
  PUNA_TRY(put_ends(m));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.o_proj", "attn_output"},
      {"post_attention_layernorm", "ffn_norm"},
      {"mlp.gate", "ffn_gate_inp"},
      {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
      {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
      {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    PUNA_TRY(put_qkv(m, l, How::kSame, How::kSame));
    PUNA_TRY(put_gate_up(m, l));
    if (!m.find(prefix + "mlp.gate.weight")) continue;
    PUNA_TRY(put_experts(m, l, prefix + "mlp.experts", n_experts));
    if (const std::string bias = prefix + "mlp.moe_statics.e_score_correction_bias"; m.find(bias)) {
      PUNA_TRY(Strided view, m.view(bias));  // [1, n_experts]
      PUNA_TRY(m.put(layer_name(l, "exp_probs_b.bias"), {std::move(view)}, {n_experts}));
    }
  }
  m.ignore("model.mtp_");  // predicts further tokens; not used
  return {};
}

Result<void> map_glm4_moe(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(c.must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(put_half_rotary(m));
  PUNA_TRY(m.copy(kGlmKeys));
  PUNA_TRY(const bool norm, c.flag("norm_topk_prob", true));
  m.set("expert_weights_norm", norm);
  m.set("expert_gating_func", kSigmoid);
  PUNA_TRY(const uint64_t n_experts, c.count("n_routed_experts"));
  PUNA_TRY(put_ends(m));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"post_attention_layernorm", "post_attention_norm"},
      {"mlp.gate", "ffn_gate_inp"},
      {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
      {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
      {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    PUNA_TRY(put_qkv(m, l, How::kSame, How::kSame));
    PUNA_TRY(put_gate_up(m, l));
    if (!m.find(prefix + "mlp.gate.weight")) continue;
    PUNA_TRY(
        m.rename(prefix + "mlp.gate.e_score_correction_bias", layer_name(l, "exp_probs_b.bias")));
    PUNA_TRY(put_experts(m, l, prefix + "mlp.experts", n_experts));
  }
  // Layers behind the last predict further tokens; they are not used.
  for (const char* key : {"num_nextn_predict_layers", "num_mtp_layers"}) {
    PUNA_TRY(const uint64_t n_further, c.count(key, 0));
    for (uint64_t l = 0; l < n_further && l < 16; ++l)
      m.ignore(fmt::format("model.layers.{}.", m.n_layers + l));
  }
  return {};
}

Result<void> map_granitemoe(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(m.copy(kGraniteKeys));
  PUNA_TRY(put_ends(m));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.o_proj", "attn_output"},
      {"post_attention_layernorm", "ffn_norm"},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    PUNA_TRY(put_qkv(m, l, How::kPairsQ, How::kPairsK));
    PUNA_TRY(put_granite_ffn(m, l, prefix, /*has_experts=*/true));
  }
  return {};
}

Result<void> map_hunyuan_moe(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(c.must_be("hidden_act", "silu"));
  PUNA_TRY(c.must_be("use_cla", false));
  PUNA_TRY(put_decoder_keys(m));
  const bool own_size = c.has("moe_intermediate_size");
  PUNA_TRY(const uint64_t n_experts, same_count(c, "num_experts"));
  PUNA_TRY(const uint64_t n_chosen, same_count(c, "moe_topk"));
  PUNA_TRY(const uint64_t shared, c.count("intermediate_size"));
  PUNA_TRY(const uint64_t ffn,
           own_size ? same_count(c, "moe_intermediate_size") : Result<uint64_t>(shared));
  m.set("expert_count", n_experts);
  m.set("expert_used_count", n_chosen);
  m.set("expert_feed_forward_length", ffn);
  m.set("expert_shared_feed_forward_length", shared);
  PUNA_TRY(put_ends(m));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.query_layernorm", "attn_q_norm"},
      {"self_attn.key_layernorm", "attn_k_norm"},
      {"post_attention_layernorm", "ffn_norm"},
      {"mlp.gate.wg", "ffn_gate_inp"},
      {"mlp.shared_mlp.gate_proj", "ffn_gate_shexp"},
      {"mlp.shared_mlp.up_proj", "ffn_up_shexp"},
      {"mlp.shared_mlp.down_proj", "ffn_down_shexp"},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    PUNA_TRY(put_qkv(m, l, How::kSame, How::kSame));
    PUNA_TRY(put_experts(m, l, prefix + "mlp.experts", n_experts));
  }
  return {};
}

Result<void> map_llama4(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(c.must_be("hidden_act", "silu"));
  PUNA_TRY(c.must_be("num_experts_per_tok", 1));
  PUNA_TRY(c.must_be("attn_temperature_tuning", true));
  PUNA_TRY(check_llama4_layers(m));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(const uint64_t n_experts, c.count("num_local_experts"));
  PUNA_TRY(c.must_be("use_qk_norm", n_experts != 128));
  PUNA_TRY(const uint64_t every, c.count("interleave_moe_layer_step", 1));
  PUNA_TRY(const uint64_t dense, c.count("intermediate_size_mlp"));
  PUNA_TRY(const uint64_t ffn, c.count("intermediate_size"));
  m.set("expert_count", n_experts);
  m.set("expert_used_count", uint64_t{1});
  m.set("expert_feed_forward_length", ffn);
  m.set("feed_forward_length", dense);
  m.set("interleave_moe_layer_step", every);
  // What GGUF has no key for where it is as usual.
  PUNA_TRY(const uint64_t chunk, c.count("attention_chunk_size", 8192));
  PUNA_TRY(const double period, c.real("floor_scale", 8192));
  PUNA_TRY(const double growth, c.real("attn_scale", 0.1));
  if (chunk != 8192) m.set("attention.sliding_window", chunk);
  if (period != 8192) {
    if (!(period >= 1 && period < 1 << 30) || period != std::floor(period)) {
      return base::fail(ErrorCode::kCorrupt,
                        fmt::format("The key \"floor_scale\" of config.json is {}, but a count is "
                                    "expected.",
                                    period));
    }
    m.set("attention.temperature_length", static_cast<uint64_t>(period));
  }
  if (growth != 0.1) m.set("attention.temperature_scale", growth);
  PUNA_TRY(put_ends(m));
  constexpr Rename kLayer[] = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.o_proj", "attn_output"},
      {"post_attention_layernorm", "ffn_norm"},
      {"feed_forward.gate_proj", "ffn_gate"},
      {"feed_forward.up_proj", "ffn_up"},
      {"feed_forward.down_proj", "ffn_down"},
      {"feed_forward.router", "ffn_gate_inp"},
      {"feed_forward.shared_expert.gate_proj", "ffn_gate_shexp"},
      {"feed_forward.shared_expert.up_proj", "ffn_up_shexp"},
      {"feed_forward.shared_expert.down_proj", "ffn_down_shexp"},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    PUNA_TRY(put_qkv(m, l, How::kSame, How::kSame));
    if (!m.find(prefix + "feed_forward.router.weight")) continue;
    PUNA_TRY(put_llama4_experts(m, l, prefix + "feed_forward.experts"));
  }
  return {};
}

}  // namespace puna::formats::hf
