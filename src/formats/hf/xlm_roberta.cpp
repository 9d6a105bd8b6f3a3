// XLM-RoBERTa (BGE M3 and its rerankers), and JINA Embeddings 3, which is one with rotary positions
// and adapters for tasks. They give embeddings or the scores of a classifier.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr Key kKeys[] = {
    {"num_hidden_layers", "block_count"},
    {"max_position_embeddings", "context_length"},
    {"hidden_size", "embedding_length"},
    {"intermediate_size", "feed_forward_length"},
    {"num_attention_heads", "attention.head_count"},
    {"vocab_size", "vocab_size"},
};

// As BERT calls the modules of a layer, and as JINA Embeddings 3 does.
constexpr Rename kBert[] = {
    {"attention.self.query", "attn_q"},
    {"attention.self.key", "attn_k"},
    {"attention.self.value", "attn_v"},
    {"attention.output.dense", "attn_output"},
    {"attention.output.LayerNorm", "attn_output_norm"},
    {"intermediate.dense", "ffn_up"},
    {"output.dense", "ffn_down"},
    {"output.LayerNorm", "layer_output_norm"},
};
constexpr Rename kJina[] = {
    {"mixer.Wqkv", "attn_qkv"}, {"mixer.out_proj", "attn_output"}, {"norm1", "attn_output_norm"},
    {"mlp.fc1", "ffn_up"},      {"mlp.fc2", "ffn_down"},           {"norm2", "layer_output_norm"},
};

// A module of which the weight may stand beside adapters: W of W + B A, where it does. Without a
// task the adapters are not applied.
Result<void> rename_module(Mapping& m, const std::string& hf, const std::string& gguf) {
  const std::string adapted = hf + ".parametrizations.weight.";
  const bool has_adapters = m.find(adapted + "original") != nullptr;
  PUNA_TRY(m.rename(has_adapters ? adapted + "original" : hf + ".weight", gguf + ".weight"));
  PUNA_TRY(m.rename(hf + ".bias", gguf + ".bias"));
  m.ignore(adapted + "0.lora_");
  return {};
}

Result<void> put_parts(Mapping& m, const std::string& prefix, const std::string& norm,
                       const std::string& layers, std::span<const Rename> layer) {
  m.set("attention.causal", false);
  PUNA_TRY(m.copy(kKeys));
  PUNA_TRY(const double eps, m.config().real("layer_norm_eps", 1e-12));
  m.set("attention.layer_norm_epsilon", eps);
  const std::string e = prefix + "embeddings.";
  PUNA_TRY(rename_module(m, e + "word_embeddings", "token_embd"));
  PUNA_TRY(rename_module(m, e + "token_type_embeddings", "token_types"));
  PUNA_TRY(rename_module(m, prefix + norm, "token_embd_norm"));
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    for (const Rename& r : layer) {
      PUNA_TRY(rename_module(m, fmt::format("{}{}.{}.{}", prefix, layers, l, r.hf),
                             layer_name(l, r.gguf)));
    }
  }
  m.ignore(e + "position_ids");
  m.ignore(prefix + "pooler.");
  m.ignore("lm_head.");
  return {};
}

// A classifier reads the first token's row.
Result<void> put_classifier(Mapping& m) {
  if (!m.find("classifier.out_proj.weight")) return {};
  m.set("pooling_type", uint64_t{4});  // rank
  PUNA_TRY(rename_module(m, "classifier.dense", "cls"));
  return rename_module(m, "classifier.out_proj", "cls.output");
}

// Positions begin behind that of padding.
Result<void> put_positions(Mapping& m, const std::string& prefix) {
  PUNA_TRY(const uint64_t padding, m.config().count("pad_token_id", 1));
  const std::string name = prefix + "embeddings.position_embeddings.weight";
  PUNA_TRY(Strided view, m.view(name));
  const std::vector<uint64_t> shape = view.tensor().shape;
  const uint64_t n = shape.empty() ? 0 : shape[0];
  if (shape.size() != 2 || n <= padding + 1) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("Tensor \"{}\" of shape [{}] has no rows behind that of the "
                                  "padding, {}.",
                                  name, fmt::join(shape, ", "), padding));
  }
  view.slice(0, padding + 1, n - padding - 1);
  m.set("context_length", n - padding - 1);
  std::vector<Strided> parts;
  parts.push_back(std::move(view));
  return m.put("position_embd.weight", std::move(parts), {n - padding - 1, shape[1]});
}

std::string prefix_of(Mapping& m) {
  const std::string table = "roberta.embeddings.word_embeddings.";
  const bool behind =
      m.find(table + "weight") || m.find(table + "parametrizations.weight.original");
  return behind ? "roberta." : "";
}

Result<void> tell_of_adapters(const Mapping& m) {
  PUNA_TRY(const std::vector<std::string> tasks, m.config().texts("lora_adaptations"));
  if (!tasks.empty()) {
    base::log_warning(
        "The adapters of the tasks {} (\"lora_adaptations\" of config.json) are not applied: "
        "embeddings are those without a task.",
        fmt::join(tasks, ", "));
  }
  return {};
}

}  // namespace

Result<void> map_xlm_roberta(Mapping& m) {
  PUNA_TRY(m.config().must_be("hidden_act", "gelu"));
  PUNA_TRY(m.config().must_be("position_embedding_type", "absolute"));
  PUNA_TRY(m.config().must_be("is_decoder", false));
  PUNA_TRY(m.read_sizes());
  const std::string prefix = prefix_of(m);
  PUNA_TRY(put_parts(m, prefix, "embeddings.LayerNorm", "encoder.layer", kBert));
  PUNA_TRY(put_positions(m, prefix));
  return put_classifier(m);
}

bool has_rotary_positions(const Config& config) {
  const base::Json* const kind = config.find("position_embedding_type");
  return kind && *kind == base::Json("rotary");
}

Result<void> map_jina_bert_v3(Mapping& m) {
  Config& config = m.config();
  PUNA_TRY(config.must_be("hidden_act", "gelu"));
  PUNA_TRY(config.must_be("is_decoder", false));
  PUNA_TRY(config.must_be("truncate_dim", nullptr));
  PUNA_TRY(tell_of_adapters(m));
  PUNA_TRY(m.read_sizes());
  if (has_rotary_positions(config)) {
    PUNA_TRY(const double base, config.real("rotary_emb_base"));
    config.set("rope_theta", base);
  } else {
    config.usually("rope_theta", 20000.0);
  }
  config.usually("layer_norm_eps", 1e-5);
  PUNA_TRY(put_parts(m, prefix_of(m), "emb_ln", "encoder.layers", kJina));
  return put_rope(m);
}

}  // namespace puna::formats::hf
