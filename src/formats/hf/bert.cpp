// BERT and Nomic BERT, which give embeddings.

#include <fmt/format.h>

#include <algorithm>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr Rename kBertLayer[] = {
    {"attention.self.query", "attn_q"},
    {"attention.self.key", "attn_k"},
    {"attention.self.value", "attn_v"},
    {"attention.output.dense", "attn_output"},
    {"attention.output.LayerNorm", "attn_output_norm"},
    {"intermediate.dense", "ffn_up"},
    {"output.dense", "ffn_down"},
    {"output.LayerNorm", "layer_output_norm"},
};

constexpr Key kBertKeys[] = {
    {"num_hidden_layers", "block_count"},
    {"max_position_embeddings", "context_length"},
    {"hidden_size", "embedding_length"},
    {"intermediate_size", "feed_forward_length"},
    {"num_attention_heads", "attention.head_count"},
    {"layer_norm_eps", "attention.layer_norm_epsilon", Key::Kind::kReal, false},
    {"vocab_size", "vocab_size"},
};

constexpr Rename kNomicLayer[] = {
    {"attn.Wqkv", "attn_qkv"},      {"attn.out_proj", "attn_output"}, {"norm1", "attn_output_norm"},
    {"mlp.fc11", "ffn_up"},         {"mlp.fc12", "ffn_gate"},         {"mlp.fc2", "ffn_down"},
    {"norm2", "layer_output_norm"},
};

// Of files made before transformers had the model.
constexpr Key kOldNomicKeys[] = {
    {"n_layer", "block_count"},
    {"n_embd", "embedding_length"},
    {"n_inner", "feed_forward_length"},
    {"n_head", "attention.head_count"},
    {"layer_norm_epsilon", "attention.layer_norm_epsilon", Key::Kind::kReal},
    {"vocab_size", "vocab_size"},
};

// A classifier's folder has the model behind "bert.".
std::string prefix_of(Mapping& m) {
  return m.find("bert.embeddings.word_embeddings.weight") ? "bert." : "";
}

Result<void> put_embeddings(Mapping& m, const std::string& prefix, const std::string& norm) {
  m.set("attention.causal", false);
  const std::string e = prefix + "embeddings.";
  PUNA_TRY(m.rename(e + "word_embeddings.weight", "token_embd.weight"));
  PUNA_TRY(m.rename(e + "position_embeddings.weight", "position_embd.weight"));
  PUNA_TRY(m.rename(e + "token_type_embeddings.weight", "token_types.weight"));
  for (const char* part : {".weight", ".bias"}) {
    PUNA_TRY(m.rename(prefix + norm + part, std::string("token_embd_norm") + part));
  }
  m.ignore(e + "position_ids");
  m.ignore(prefix + "pooler.");
  m.ignore("cls.predictions");
  m.ignore("cls.seq_relationship");
  return {};
}

// A reranker or another classifier reads the first token's row through the pooler.
Result<void> put_classifier(Mapping& m, const std::string& prefix) {
  if (!m.find("classifier.weight")) return {};
  m.set("pooling_type", uint64_t{4});  // rank
  for (const char* part : {".weight", ".bias"}) {
    PUNA_TRY(m.rename(prefix + "pooler.dense" + part, std::string("cls") + part));
    PUNA_TRY(m.rename(std::string("classifier") + part, std::string("cls.output") + part));
  }
  return {};
}

}  // namespace

Result<void> map_bert(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "gelu"));
  PUNA_TRY(m.config().must_be("position_embedding_type", "absolute"));
  PUNA_TRY(m.config().must_be("is_decoder", false));
  PUNA_TRY(m.read_sizes());
  PUNA_TRY(m.copy(kBertKeys));
  const std::string prefix = prefix_of(m);
  PUNA_TRY(put_embeddings(m, prefix, "embeddings.LayerNorm"));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    PUNA_TRY(m.rename_layer(l, fmt::format("{}encoder.layer.{}.", prefix, l), kBertLayer));
  }
  return put_classifier(m, prefix);
}

Result<void> map_nomic_bert(Mapping& m) {
  const Config& c = m.config();
  const bool old = c.has("n_embd");
  PUNA_TRY(c.must_be(old ? "activation_function" : "hidden_act", old ? "swiglu" : "silu"));
  for (const char* key : {"prenorm", "causal", "rotary_emb_interleaved"}) {
    PUNA_TRY(c.must_be(key, false));
  }
  PUNA_TRY(c.must_be("rotary_emb_fraction", 1.0));
  PUNA_TRY(c.must_be("moe_every_n_layers", 0));
  PUNA_TRY(const uint64_t layers, c.count(old ? "n_layer" : "num_hidden_layers"));
  if (old) {
    PUNA_TRY(m.copy(kOldNomicKeys));
    // Positions beyond those trained need scaling by another rule (dynamic NTK).
    PUNA_TRY(const uint64_t positions, c.count("n_positions"));
    PUNA_TRY(const uint64_t trained, c.count("max_trained_positions", 2048));
    m.set("context_length", std::min(positions, trained));
    PUNA_TRY(const double base, c.real("rotary_emb_base", 10000.0));
    m.set("rope.freq_base", base);
  } else {
    PUNA_TRY(m.read_sizes());
    PUNA_TRY(m.copy(kBertKeys));
    PUNA_TRY(put_rope(m));
  }
  const std::string prefix = prefix_of(m);
  PUNA_TRY(put_embeddings(m, prefix, "emb_ln"));
  for (uint32_t l = 0; l < layers && l < 4096; ++l) {
    PUNA_TRY(m.rename_layer(l, fmt::format("{}encoder.layers.{}.", prefix, l), kNomicLayer));
  }
  return {};
}

}  // namespace puna::formats::hf
