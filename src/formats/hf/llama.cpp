// Llama and what is built like it: one attention, one feed-forward block a layer. The Llama group
// has rotary pairs half a head apart, which GGUF stores as neighbours; the Qwen group keeps them.

#include <fmt/format.h>

#include <algorithm>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr Rename kNorms[] = {
    {"input_layernorm", "attn_norm"},         {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},      {"self_attn.k_norm", "attn_k_norm"},
    {"post_attention_layernorm", "ffn_norm"},
};

Result<void> put_decoder(Mapping& m, How q, How k) {
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(put_ends(m));
  return put_decoder_layers(m, kNorms, q, k);
}

constexpr Key kGraniteKeys[] = {
    {"embedding_multiplier", "embedding_scale", Key::Kind::kReal, false},
    {"attention_multiplier", "attention.scale", Key::Kind::kReal, false},
    {"residual_multiplier", "residual_scale", Key::Kind::kReal, false},
    {"logits_scaling", "logit_scale", Key::Kind::kReal, false},
};

}  // namespace

Result<void> map_llama(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  return put_decoder(m, How::kPairsQ, How::kPairsK);
}

Result<void> map_mistral(Mapping& m) {
  PUNA_TRY(map_llama(m));
  return bound_by_window(m);
}

Result<void> map_internlm2(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  constexpr Rename kLayer[] = {
      {"attention_norm", "attn_norm"}, {"attention.wo", "attn_output"},
      {"ffn_norm", "ffn_norm"},        {"feed_forward.w1", "ffn_gate"},
      {"feed_forward.w3", "ffn_up"},   {"feed_forward.w2", "ffn_down"},
  };
  PUNA_TRY(m.rename("model.tok_embeddings.weight", "token_embd.weight"));
  PUNA_TRY(m.rename("model.norm.weight", "output_norm.weight"));
  PUNA_TRY(m.rename("output.weight", "output.weight"));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kLayer));
    PUNA_TRY(
        put_grouped_qkv(m, prefix + "attention.wqkv",
                        {layer_name(l, "attn_q"), layer_name(l, "attn_k"), layer_name(l, "attn_v")},
                        m.n_kv_heads, How::kPairsQ));
  }
  return {};
}

Result<void> map_smollm3(Mapping& m) {
  PUNA_TRY(m.config().must_be("use_sliding_window", false));
  PUNA_TRY(map_llama(m));
  const base::Json* turns = m.config().find("no_rope_layers");
  if (!turns) return m.config().must_be("no_rope_layer_interval", 4);
  for (size_t l = 0; turns->is_array() && l < turns->items().size(); ++l) {
    const base::Json& on = turns->items()[l];
    if (on.is_integer() && (on.integer() != 0) == ((l + 1) % 4 != 0)) continue;
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The key \"no_rope_layers\" of config.json has {} for layer {}; "
                                  "every fourth layer is expected to have no positions.",
                                  on.dump(), l));
  }
  return {};
}

Result<void> map_granite(Mapping& m) {
  PUNA_TRY(map_llama(m));
  return m.copy(kGraniteKeys);
}

Result<void> map_ministral3(Mapping& m) {
  PUNA_TRY(map_llama(m));
  PUNA_TRY(const Config rope, rope_parameters(m, "full_attention"));
  PUNA_TRY(const double growth, rope.real("llama_4_scaling_beta", 0.0));
  if (growth != 0) m.set("attention.temperature_scale", growth);
  return bound_by_window(m);
}

Result<void> map_qwen2(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(m.config().must_be("use_sliding_window", false));
  return put_decoder(m, How::kSame, How::kSame);
}

Result<void> map_qwen3(Mapping& m) {
  PUNA_TRY(map_qwen2(m));
  if (!m.find("score.weight")) return {};
  m.set("pooling_type", uint64_t{4});  // rank: a classifier of the last row
  return m.rename("score.weight", "cls.output.weight");
}

// Pairs that turn by time, row and column, of "mrope_section"; GGUF's list has a fourth number.
static Result<void> put_rope_sections(Mapping& m) {
  PUNA_TRY(const Config rope, rope_parameters(m, "full_attention"));
  PUNA_TRY(const std::vector<double> sections, rope.reals("mrope_section"));
  if (sections.size() != 3 ||
      std::ranges::any_of(sections, [](double n) { return !(n >= 0 && n < 1 << 16); })) {
    return base::fail(ErrorCode::kCorrupt,
                      "The key \"mrope_section\" of config.json is expected to list three counts.");
  }
  std::vector<uint64_t> out(4, 0);
  std::ranges::transform(sections, out.begin(), [](double n) { return static_cast<uint64_t>(n); });
  m.set("rope.dimension_sections", std::move(out));
  return {};
}

Result<void> map_qwen2vl(Mapping& m) {
  PUNA_TRY(map_qwen2(m));
  return put_rope_sections(m);
}

// As many rows of deepstack as the encoder gives.
Result<void> map_qwen3vl(Mapping& m) {
  PUNA_TRY(map_qwen3(m));
  PUNA_TRY(put_rope_sections(m));
  const base::Json* vision = m.config().find("vision_config");
  if (!vision || !vision->is_object()) return {};
  PUNA_TRY(const std::vector<double> blocks, Config(*vision).reals("deepstack_visual_indexes"));
  m.set("n_deepstack_layers", uint64_t{blocks.size()});
  return {};
}

Result<void> map_phi3(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(const uint64_t window, m.config().count("sliding_window", 0));
  m.set("attention.sliding_window", window);  // 0: none
  PUNA_TRY(put_ends(m));
  constexpr Rename kFused[] = {
      {"self_attn.qkv_proj", "attn_qkv"},
      {"mlp.gate_up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string prefix = fmt::format("model.layers.{}.", l);
    PUNA_TRY(m.rename_layer(l, prefix, kNorms));
    PUNA_TRY(m.rename_layer(l, prefix, kFused));
  }
  return {};
}

Result<void> map_olmo2(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(put_ends(m));
  constexpr Rename kLayer[] = {
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"post_attention_layernorm", "post_attention_norm"},
      {"post_feedforward_layernorm", "post_ffw_norm"},
  };
  return put_decoder_layers(m, kLayer, How::kSame, How::kSame);
}

Result<void> map_olmo3(Mapping& m) {
  PUNA_TRY(map_olmo2(m));
  PUNA_TRY(check_layer_types(m, "sliding_attention", [](uint32_t l) { return (l + 1) % 4 != 0; }));
  PUNA_TRY(const uint64_t window, m.config().count("sliding_window", 4096));
  m.set("attention.sliding_window", window);
  // Layers with a window turn by the same base, unstretched.
  PUNA_TRY(const Config full, rope_parameters(m, "full_attention"));
  PUNA_TRY(const Config sliding, rope_parameters(m, "sliding_attention"));
  PUNA_TRY(const double base, full.real("rope_theta", 10000.0));
  return sliding.must_be("rope_theta", base);
}

}  // namespace puna::formats::hf
