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

constexpr Rename kJinaLayer[] = {
    {"attention.self.query", "attn_q"},
    {"attention.self.key", "attn_k"},
    {"attention.self.value", "attn_v"},
    {"attention.output.dense", "attn_output"},
    {"attention.output.LayerNorm", "attn_output_norm"},
    {"mlp.wo", "ffn_down"},
    {"mlp.layernorm", "layer_output_norm"},
};

constexpr Rename kNomicLayer[] = {
    {"attn.Wqkv", "attn_qkv"},      {"attn.out_proj", "attn_output"},
    {"norm1", "attn_output_norm"},  {"mlp.fc11", "ffn_up"},
    {"mlp.fc12", "ffn_gate"},       {"mlp.fc2", "ffn_down"},
    {"norm2", "layer_output_norm"}, {"mlp.fc1", "ffn_up"},
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

bool has_alibi(const Config& config) {
  const base::Json* const kind = config.find("position_embedding_type");
  return kind && *kind == base::Json("alibi");
}

Result<void> map_jina_bert_v2(Mapping& m) {
  PUNA_TRY(m.config().must_be("feed_forward_type", "geglu"));
  PUNA_TRY(m.config().must_be("is_decoder", false));
  PUNA_TRY(m.read_sizes());
  PUNA_TRY(m.copy(kBertKeys));
  PUNA_TRY(m.config().must_be("emb_pooler", "mean"));
  const std::string prefix = prefix_of(m);
  PUNA_TRY(put_embeddings(m, prefix, "embeddings.LayerNorm"));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string layer = fmt::format("{}encoder.layer.{}.", prefix, l);
    PUNA_TRY(m.rename_layer(l, layer, kJinaLayer));
    PUNA_TRY(put_halves(m, layer + "mlp.gated_layers.weight", layer_name(l, "ffn_gate.weight"),
                        layer_name(l, "ffn_up.weight")));
  }
  return {};
}

bool has_nomic_experts(const Config& config) {
  return config.count("moe_every_n_layers", 0).value_or(0) > 0;
}

namespace {

// Of a layer's experts the first matrix is [n_experts * ffn, hidden], and so is the second, whose
// rows are columns.
Result<void> put_nomic_experts(Mapping& m, uint32_t layer, const std::string& prefix,
                               uint64_t n_experts) {
  const std::string first = prefix + "experts.mlp.w1", second = prefix + "experts.mlp.w2";
  const RawTensor* const up = m.find(first);
  if (!up) return {};
  if (n_experts == 0 || up->shape.size() != 2 || up->shape[0] % n_experts != 0) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("Tensor \"{}\" is not of {} experts of as many rows.", first, n_experts));
  }
  const uint64_t ffn = up->shape[0] / n_experts, hidden = up->shape[1];
  PUNA_TRY(Strided rows, m.view(first));
  PUNA_TRY(Strided columns, m.view(second));
  columns.split(0, {n_experts, ffn}).swap(1, 2);
  std::vector<Strided> parts(1, rows), turned(1, columns);
  PUNA_TRY(
      m.put(layer_name(layer, "ffn_up_exps.weight"), std::move(parts), {n_experts, ffn, hidden}));
  PUNA_TRY(m.put(layer_name(layer, "ffn_down_exps.weight"), std::move(turned),
                 {n_experts, hidden, ffn}));
  PUNA_TRY(m.rename(prefix + "experts.bias", layer_name(layer, "ffn_exps.bias")));
  return m.rename(prefix + "router.layer.weight", layer_name(layer, "ffn_gate_inp.weight"));
}

// The keys of experts. Gives their number.
Result<uint64_t> put_nomic_expert_keys(Mapping& m) {
  constexpr uint64_t kTold = 2048, kTrained = 512;
  const Config& c = m.config();
  PUNA_TRY(c.must_be("moe_normalize_expert_weights", false));
  PUNA_TRY(c.must_be("expert_choice_router", false));
  PUNA_TRY(c.must_be("num_shared_experts", 0));
  PUNA_TRY(const uint64_t every, c.count("moe_every_n_layers"));
  PUNA_TRY(const uint64_t chosen, c.count("moe_top_k"));
  PUNA_TRY(const uint64_t n, c.count("num_experts"));
  m.set("moe_every_n_layers", every);
  m.set("expert_count", n);
  m.set("expert_used_count", chosen);
  // What config.json says of the one that was published is not what it was trained for.
  PUNA_TRY(const uint64_t positions, c.count("n_positions"));
  if (positions == kTold) m.set("context_length", kTrained);
  return n;
}

}  // namespace

Result<void> map_nomic_bert(Mapping& m) {
  const Config& c = m.config();
  const bool old = c.has("n_embd"), moe = has_nomic_experts(c);
  if (moe && !old) {
    return base::fail(ErrorCode::kUnsupported,
                      "The key \"moe_every_n_layers\" of config.json is supported only beside "
                      "\"n_embd\" and its like.");
  }
  const char* const activation = moe ? "gelu" : old ? "swiglu" : "silu";
  PUNA_TRY(c.must_be(old ? "activation_function" : "hidden_act", activation));
  for (const char* key : {"prenorm", "causal", "rotary_emb_interleaved"}) {
    PUNA_TRY(c.must_be(key, false));
  }
  PUNA_TRY(c.must_be("rotary_emb_fraction", 1.0));
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
  uint64_t n_experts = 0;
  if (moe) {
    PUNA_TRY(n_experts, put_nomic_expert_keys(m));
  }
  const std::string prefix = prefix_of(m);
  PUNA_TRY(put_embeddings(m, prefix, "emb_ln"));
  for (uint32_t l = 0; l < layers && l < 4096; ++l) {
    const std::string layer = fmt::format("{}encoder.layers.{}.", prefix, l);
    PUNA_TRY(m.rename_layer(l, layer, kNomicLayer));
    PUNA_TRY(put_nomic_experts(m, l, layer + "mlp.", n_experts));
  }
  return {};
}

}  // namespace puna::formats::hf
