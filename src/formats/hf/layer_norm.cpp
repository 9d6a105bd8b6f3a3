// Decoders with layer norms whose modules are called as Llama's: Phi, StableLM, StarCoder2, OLMo.

#include <fmt/format.h>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::Result;

namespace {

constexpr Rename kLayer[] = {
    {"input_layernorm", "attn_norm"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.dense", "attn_output"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.fc1", "ffn_up"},
    {"mlp.fc2", "ffn_down"},
    {"mlp.c_fc", "ffn_up"},
    {"mlp.c_proj", "ffn_down"},
};

Result<void> put_layers(Mapping& m, How how_q, How how_k, std::string_view norm = "model.norm") {
  PUNA_TRY(put_ends(m, How::kSame, norm));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    PUNA_TRY(m.rename_layer(l, fmt::format("model.layers.{}.", l), kLayer));
    PUNA_TRY(put_qkv(m, l, how_q, how_k));
    PUNA_TRY(put_gate_up(m, l));
  }
  return {};
}

// The norms of all heads of q or of k as one tensor [heads, head_dim].
Result<void> stack_head_norms(Mapping& m, uint32_t layer, const char* which, uint64_t n_heads) {
  const std::string prefix =
      fmt::format("model.layers.{}.self_attn.{}_layernorm.norms.", layer, which);
  if (n_heads == 0) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("There are no heads for \"{}0.weight\".", prefix));
  }
  std::vector<Strided> heads;
  for (uint64_t h = 0; h < n_heads; ++h) {
    PUNA_TRY(Strided head, m.view(fmt::format("{}{}.weight", prefix, h)));
    heads.push_back(std::move(head));
  }
  return m.put(layer_name(layer, fmt::format("attn_{}_norm.weight", which)), std::move(heads),
               {n_heads, m.head_dim});
}

}  // namespace

Result<void> map_phi(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "gelu_new"));
  PUNA_TRY(m.config().must_be("qk_layernorm", false));
  m.config().usually("partial_rotary_factor", 0.5);
  PUNA_TRY(put_decoder_keys(m));
  return put_layers(m, How::kSame, How::kSame, "model.final_layernorm");
}

Result<void> map_stablelm(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  m.config().also_called("layer_norm_eps", "norm_eps");
  m.config().also_called("partial_rotary_factor", "rope_pct");
  m.config().usually("partial_rotary_factor", 0.25);
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(const bool parallel, m.config().flag("use_parallel_residual", false));
  PUNA_TRY(const bool head_norms, m.config().flag("qk_layernorm", false));
  m.set("use_parallel_residual", parallel);
  PUNA_TRY(put_layers(m, How::kSame, How::kSame));
  for (uint32_t l = 0; l < m.n_layers && head_norms; ++l) {
    PUNA_TRY(stack_head_norms(m, l, "q", m.n_heads));
    PUNA_TRY(stack_head_norms(m, l, "k", m.n_kv_heads));
  }
  return {};
}

Result<void> map_starcoder2(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "gelu_pytorch_tanh"));
  m.config().also_called("layer_norm_eps", "norm_epsilon");
  m.config().usually("tie_word_embeddings", true);
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(const uint64_t window, m.config().count("sliding_window", 0));
  if (window > 0) m.set("attention.sliding_window", window);
  return put_layers(m, How::kSame, How::kSame);
}

Result<void> map_olmo(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "silu"));
  PUNA_TRY(put_decoder_keys(m));
  m.set("attention.layer_norm_epsilon", 1e-5);  // config.json has none
  constexpr Key kKeys[] = {{"clip_qkv", "attention.clamp_kqv", Key::Kind::kReal, false}};
  PUNA_TRY(m.copy(kKeys));
  return put_layers(m, How::kPairsQ, How::kPairsK);
}

}  // namespace puna::formats::hf
