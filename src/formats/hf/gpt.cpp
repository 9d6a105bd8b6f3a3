// GPT-2 and decoders of its line, whose folders have names and orders of their own: StarCoder,
// GPT-NeoX, Falcon, BLOOM, MPT.

#include <fmt/format.h>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

// Without "intermediate_size" the feed-forward blocks are four times as wide as the model.
Result<void> widen_by_four(Mapping& m) {
  if (m.config().has("intermediate_size")) return {};
  PUNA_TRY(const uint64_t hidden, m.config().count("hidden_size"));
  if (hidden < uint64_t{1} << 20) m.config().usually("intermediate_size", 4 * hidden);
  return {};
}

// A folder of the bare model has its tensors without "transformer.".
std::string prefix_of(Mapping& m, const char* table) {
  return m.find(std::string(table) + ".weight") ? "" : "transformer.";
}

// "PREFIX<hf>.weight" and bias.
Result<void> rename_module(Mapping& m, const std::string& hf, const std::string& gguf) {
  for (const char* part : {".weight", ".bias"}) {
    PUNA_TRY(m.rename(hf + part, gguf + part));
  }
  return {};
}

// The output layer, which is the embedding table unless config.json says otherwise.
Result<void> put_tied_output(Mapping& m) {
  m.config().usually("tie_word_embeddings", true);
  return put_output(m);
}

void name_gpt2_keys(Config& c) {
  c.also_called("num_hidden_layers", "n_layer");
  c.also_called("hidden_size", "n_embd");
  c.also_called("num_attention_heads", "n_head");
  c.also_called("max_position_embeddings", "n_positions");
  c.also_called("intermediate_size", "n_inner");
  c.also_called("layer_norm_eps", "layer_norm_epsilon");
}

constexpr Rename kGpt2Norms[] = {{"ln_1", "attn_norm"}, {"ln_2", "ffn_norm"}};
constexpr Rename kGpt2Products[] = {
    {"attn.c_attn", "attn_qkv"},
    {"attn.c_proj", "attn_output"},
    {"mlp.c_fc", "ffn_up"},
    {"mlp.c_proj", "ffn_down"},
};

Result<void> put_gpt2_ends(Mapping& m, const std::string& prefix) {
  PUNA_TRY(m.rename(prefix + "wte.weight", "token_embd.weight"));
  PUNA_TRY(m.rename(prefix + "wpe.weight", "position_embd.weight"));
  PUNA_TRY(rename_module(m, prefix + "ln_f", "output_norm"));
  return put_tied_output(m);
}

// GPT-2 keeps its matrices as columns by rows.
Result<void> put_turned(Mapping& m, const std::string& hf, const std::string& gguf) {
  PUNA_TRY(m.rename(hf + ".bias", gguf + ".bias"));
  PUNA_TRY(Strided view, m.view(hf + ".weight"));
  std::vector<uint64_t> shape = view.tensor().shape;
  if (shape.size() != 2) {
    return base::fail(ErrorCode::kCorrupt, fmt::format("Tensor \"{}.weight\" has {} dimensions, "
                                                       "not 2.",
                                                       hf, shape.size()));
  }
  view.swap(0, 1);
  std::swap(shape[0], shape[1]);
  std::vector<Strided> parts;
  parts.push_back(std::move(view));
  return m.put(gguf + ".weight", std::move(parts), std::move(shape));
}

constexpr Rename kBloomLayer[] = {
    {"input_layernorm", "attn_norm"},
    {"ln_mlp", "attn_norm"},
    {"ln_attn", "attn_norm_2"},
    {"post_attention_layernorm", "ffn_norm"},
    {"self_attention.dense", "attn_output"},
    {"attention.dense", "attn_output"},
    {"mlp.dense_h_to_4h", "ffn_up"},
    {"mlp.dense_4h_to_h", "ffn_down"},
};

// Layers "PREFIX<l>." with q, k and v fused KV head by KV head in `fused`.
Result<void> put_bloom_layers(Mapping& m, const std::string& prefix, const char* fused,
                              uint64_t n_groups) {
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string layer = fmt::format("{}{}.", prefix, l);
    PUNA_TRY(m.rename_layer(l, layer, kBloomLayer));
    PUNA_TRY(put_grouped_qkv(m, layer + fused, {layer_name(l, "attn_qkv")}, n_groups));
  }
  return {};
}

}  // namespace

Result<void> map_gpt2(Mapping& m) {
  Config& c = m.config();
  PUNA_TRY(c.must_be("activation_function", "gelu_new"));
  PUNA_TRY(c.must_be("scale_attn_weights", true));
  PUNA_TRY(c.must_be("scale_attn_by_inverse_layer_idx", false));
  PUNA_TRY(c.must_be("add_cross_attention", false));
  name_gpt2_keys(c);
  PUNA_TRY(widen_by_four(m));
  PUNA_TRY(put_size_keys(m));
  const std::string prefix = prefix_of(m, "wte");
  PUNA_TRY(put_gpt2_ends(m, prefix));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string layer = fmt::format("{}h.{}.", prefix, l);
    PUNA_TRY(m.rename_layer(l, layer, kGpt2Norms));
    for (const Rename& r : kGpt2Products) {
      PUNA_TRY(put_turned(m, layer + std::string(r.hf), layer_name(l, r.gguf)));
    }
    m.ignore(layer + "attn.bias");  // masks
    m.ignore(layer + "attn.masked_bias");
  }
  return {};
}

Result<void> map_gpt_bigcode(Mapping& m) {
  Config& c = m.config();
  PUNA_TRY(c.must_be("activation_function", "gelu_pytorch_tanh"));
  PUNA_TRY(c.must_be("scale_attn_weights", true));
  PUNA_TRY(c.must_be("add_cross_attention", false));
  PUNA_TRY(c.must_be("multi_query", true));
  name_gpt2_keys(c);
  c.usually("num_key_value_heads", 1);
  PUNA_TRY(widen_by_four(m));
  PUNA_TRY(put_size_keys(m));
  const std::string prefix = prefix_of(m, "wte");
  PUNA_TRY(put_gpt2_ends(m, prefix));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string layer = fmt::format("{}h.{}.", prefix, l);
    PUNA_TRY(m.rename_layer(l, layer, kGpt2Norms));
    PUNA_TRY(m.rename_layer(l, layer, kGpt2Products));
    m.ignore(layer + "attn.bias");
    m.ignore(layer + "attn.masked_bias");
  }
  return {};
}

Result<void> map_gpt_neox(Mapping& m) {
  Config& c = m.config();
  PUNA_TRY(c.must_be("hidden_act", "gelu"));
  c.also_called("partial_rotary_factor", "rotary_pct");
  c.also_called("rope_theta", "rotary_emb_base");
  c.usually("partial_rotary_factor", 0.25);
  PUNA_TRY(put_decoder_keys(m));
  PUNA_TRY(const bool parallel, c.flag("use_parallel_residual", true));
  m.set("use_parallel_residual", parallel);
  PUNA_TRY(m.rename("gpt_neox.embed_in.weight", "token_embd.weight"));
  PUNA_TRY(rename_module(m, "gpt_neox.final_layer_norm", "output_norm"));
  PUNA_TRY(put_output(m, m.find("lm_head.weight") ? "lm_head" : "embed_out"));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string attention = fmt::format("gpt_neox.layers.{}.attention.", l);
    for (const char* mask : {"bias", "masked_bias", "rotary_emb.inv_freq"}) {
      m.ignore(attention + mask);
    }
  }
  return put_bloom_layers(m, "gpt_neox.layers.", "attention.query_key_value", m.n_heads);
}

Result<void> map_falcon(Mapping& m) {
  Config& c = m.config();
  PUNA_TRY(c.must_be("alibi", false));
  PUNA_TRY(c.must_be("activation", "gelu"));
  PUNA_TRY(c.must_be("parallel_attn", true));
  c.also_called("num_hidden_layers", "n_layer");
  c.also_called("num_attention_heads", "n_head");
  c.also_called("num_kv_heads", "n_head_kv");
  c.also_called("intermediate_size", "ffn_hidden_size");
  c.also_called("layer_norm_eps", "layer_norm_epsilon");
  c.usually("max_position_embeddings", 2048);
  PUNA_TRY(widen_by_four(m));
  // Falcon 7B says how many heads there are where they share one key.
  PUNA_TRY(const bool grouped, c.flag("new_decoder_architecture", false));
  PUNA_TRY(const bool shared, c.flag("multi_query", true));
  if (grouped) {
    c.also_called("num_key_value_heads", "num_kv_heads");
  } else {
    c.also_called("num_key_value_heads", "num_attention_heads");
    if (shared) c.set("num_key_value_heads", 1);
  }
  PUNA_TRY(put_decoder_keys(m));
  m.set("tensor_data_layout", std::string("jploski"));  // q, k and v one after the other
  PUNA_TRY(m.rename("transformer.word_embeddings.weight", "token_embd.weight"));
  PUNA_TRY(rename_module(m, "transformer.ln_f", "output_norm"));
  PUNA_TRY(put_tied_output(m));
  return put_bloom_layers(m, "transformer.h.", "self_attention.query_key_value", m.n_kv_heads);
}

Result<void> map_bloom(Mapping& m) {
  Config& c = m.config();
  PUNA_TRY(c.must_be("apply_residual_connection_post_layernorm", false));
  c.also_called("num_hidden_layers", "n_layer");
  c.also_called("hidden_size", "n_embed");
  c.also_called("num_attention_heads", "n_head");
  c.also_called("max_position_embeddings", "seq_length");
  c.also_called("layer_norm_eps", "layer_norm_epsilon");
  c.usually("max_position_embeddings", 2048);
  PUNA_TRY(widen_by_four(m));
  PUNA_TRY(put_size_keys(m));
  const std::string prefix = prefix_of(m, "word_embeddings");
  PUNA_TRY(m.rename(prefix + "word_embeddings.weight", "token_embd.weight"));
  PUNA_TRY(rename_module(m, prefix + "word_embeddings_layernorm", "token_embd_norm"));
  PUNA_TRY(rename_module(m, prefix + "ln_f", "output_norm"));
  PUNA_TRY(put_tied_output(m));
  return put_bloom_layers(m, prefix + "h.", "self_attention.query_key_value", m.n_heads);
}

Result<void> map_mpt(Mapping& m) {
  Config& c = m.config();
  c.also_called("num_hidden_layers", "n_layers");
  c.also_called("hidden_size", "d_model");
  c.also_called("num_attention_heads", "n_heads");
  c.also_called("max_position_embeddings", "max_seq_len");
  c.also_called("layer_norm_eps", "layer_norm_epsilon");
  c.usually("layer_norm_eps", 1e-5);
  PUNA_TRY(c.must_be("expansion_ratio", 4));
  PUNA_TRY(c.must_be("logit_scale", Json()));
  const Json* found = c.find("attn_config");
  const Config attention(found && found->is_object() ? *found : Json::object());
  PUNA_TRY(attention.must_be("attn_type", "multihead_attention"));
  PUNA_TRY(attention.must_be("qk_ln", false));
  PUNA_TRY(attention.must_be("prefix_lm", false));
  PUNA_TRY(attention.must_be("softmax_scale", Json()));
  PUNA_TRY(widen_by_four(m));
  PUNA_TRY(put_size_keys(m));
  PUNA_TRY(const bool alibi, attention.flag("alibi", true));
  PUNA_TRY(const double bias, attention.real("alibi_bias_max", 8.0));
  m.set("attention.max_alibi_bias", alibi ? bias : 0.0);
  if (attention.has("clip_qkv")) {
    PUNA_TRY(const double most, attention.real("clip_qkv"));
    m.set("attention.clamp_kqv", most);
  }
  PUNA_TRY(m.rename("transformer.wte.weight", "token_embd.weight"));
  PUNA_TRY(m.rename("transformer.wpe.weight", "position_embd.weight"));
  PUNA_TRY(rename_module(m, "transformer.norm_f", "output_norm"));
  PUNA_TRY(put_tied_output(m));
  constexpr Rename kLayer[] = {
      {"norm_1", "attn_norm"},          {"norm_2", "ffn_norm"},    {"attn.Wqkv", "attn_qkv"},
      {"attn.out_proj", "attn_output"}, {"ffn.up_proj", "ffn_up"}, {"ffn.down_proj", "ffn_down"},
  };
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    PUNA_TRY(m.rename_layer(l, fmt::format("transformer.blocks.{}.", l), kLayer));
  }
  return {};
}

}  // namespace puna::formats::hf
