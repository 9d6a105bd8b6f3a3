// ModernBERT, which gives embeddings or the scores of a classifier.

#include <fmt/format.h>

#include <algorithm>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr Rename kLayer[] = {
    {"attn_norm", "attn_norm"}, {"attn.Wqkv", "attn_qkv"}, {"attn.Wo", "attn_output"},
    {"mlp_norm", "ffn_norm"},   {"mlp.Wi", "ffn_up"},      {"mlp.Wo", "ffn_down"},
};

constexpr Key kKeys[] = {
    {"num_hidden_layers", "block_count"},
    {"max_position_embeddings", "context_length"},
    {"hidden_size", "embedding_length"},
    {"intermediate_size", "feed_forward_length"},
    {"num_attention_heads", "attention.head_count"},
    {"vocab_size", "vocab_size"},
};

// Every how many layers one attends to all, the first of them; a list where "layer_types" has no
// such period.
Result<void> put_pattern(Mapping& m) {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  PUNA_TRY(const std::vector<std::string> types, m.config().texts("layer_types"));
  if (types.empty()) {
    PUNA_TRY(const uint64_t every, m.config().count("global_attn_every_n_layers", 3));
    m.set(kKey, every);
    return {};
  }
  if (types.size() != m.n_layers) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"layer_types\" of config.json lists {} layers of {}.",
                                  types.size(), m.n_layers));
  }
  std::vector<bool> local;
  for (const std::string& type : types) {
    if (type != "full_attention" && type != "sliding_attention") {
      return base::fail(
          ErrorCode::kUnsupported,
          fmt::format("The key \"layer_types\" of config.json has \"{}\"; only full_attention and "
                      "sliding_attention are supported.",
                      type));
    }
    local.push_back(type == "sliding_attention");
  }
  size_t every = 1;
  while (every < local.size() && local[every]) ++every;
  bool periodic = true;
  for (size_t l = 0; l < local.size(); ++l) periodic &= local[l] == (l % every != 0);
  if (periodic) {
    m.set(kKey, uint64_t{every});
  } else {
    m.set(kKey, std::move(local));
  }
  return {};
}

// The bases that positions turn by. Older files call them by other names.
Result<void> put_bases(Mapping& m) {
  m.config().also_called("rope_theta", "global_rope_theta");
  PUNA_TRY(const Config all, rope_parameters(m, "full_attention"));
  PUNA_TRY(const double base, all.real("rope_theta", 160000.0));
  m.config().set("rope_theta", base);
  PUNA_TRY(put_rope(m));
  PUNA_TRY(const Config local, rope_parameters(m, "sliding_attention"));
  PUNA_TRY(local.must_be("rope_type", "default"));
  PUNA_TRY(double local_base, m.config().real("local_rope_theta", 10000.0));
  if (const base::Json* parameters = m.config().find("rope_parameters");
      parameters && parameters->find("sliding_attention")) {
    PUNA_TRY(local_base, local.real("rope_theta", local_base));
  }
  m.set("rope.freq_base_swa", local_base);
  return {};
}

// A classifier reads the first token's row through the head. That of masked words is not read.
Result<void> put_head(Mapping& m) {
  if (!m.find("classifier.weight")) {
    m.ignore("head.");
    m.ignore("decoder.");
    return {};
  }
  const base::Json* names = m.config().find("architectures");
  const bool named = names && names->is_array() && !names->items().empty();
  const base::Json wanted = "ModernBertForSequenceClassification";
  if (named && names->items().front() != wanted) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The key \"architectures\" of config.json is {}; of classifiers "
                                  "only {} is supported.",
                                  names->dump(), wanted.dump()));
  }
  m.config().usually("classifier_pooling", "cls");
  PUNA_TRY(m.config().must_be("classifier_pooling", "cls"));
  m.config().usually("classifier_activation", "gelu");
  PUNA_TRY(m.config().must_be("classifier_activation", "gelu"));
  m.set("pooling_type", uint64_t{4});  // rank
  for (const char* part : {".weight", ".bias"}) {
    PUNA_TRY(m.rename(std::string("head.dense") + part, std::string("cls") + part));
    PUNA_TRY(m.rename(std::string("head.norm") + part, std::string("cls.norm") + part));
    PUNA_TRY(m.rename(std::string("classifier") + part, std::string("cls.output") + part));
  }
  return {};
}

}  // namespace

Result<void> map_modern_bert(Mapping& m) {
  PUNA_TRY(m.read_sizes());
  PUNA_TRY(m.copy(kKeys));
  PUNA_TRY(const double eps, m.config().real("norm_eps", 1e-5));
  m.set("attention.layer_norm_epsilon", eps);
  m.set("attention.causal", false);
  PUNA_TRY(const uint64_t around, m.config().count("local_attention", 128));
  m.set("attention.sliding_window", around);
  PUNA_TRY(const std::string activation, m.config().text("hidden_activation", "gelu"));
  m.set("hidden_activation", activation);
  PUNA_TRY(put_pattern(m));
  PUNA_TRY(put_bases(m));
  // A folder of the model alone has no name before its parts.
  const std::string prefix = m.find("model.embeddings.tok_embeddings.weight") ? "model." : "";
  PUNA_TRY(m.rename(prefix + "embeddings.tok_embeddings.weight", "token_embd.weight"));
  for (const char* part : {".weight", ".bias"}) {
    PUNA_TRY(m.rename(prefix + "embeddings.norm" + part, std::string("token_embd_norm") + part));
    PUNA_TRY(m.rename(prefix + "final_norm" + part, std::string("output_norm") + part));
  }
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    PUNA_TRY(m.rename_layer(l, fmt::format("{}layers.{}.", prefix, l), kLayer));
  }
  return put_head(m);
}

}  // namespace puna::formats::hf
