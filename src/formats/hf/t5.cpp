// T5, mT5 and UMT5, of which the encoder is read, for embeddings.

#include <fmt/format.h>

#include "base/log.h"
#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr Rename kLayer[] = {
    {"layer.0.SelfAttention.q", "attn_q"},
    {"layer.0.SelfAttention.k", "attn_k"},
    {"layer.0.SelfAttention.v", "attn_v"},
    {"layer.0.SelfAttention.o", "attn_o"},
    {"layer.0.SelfAttention.relative_attention_bias", "attn_rel_b"},
    {"layer.0.layer_norm", "attn_norm"},
    {"layer.1.DenseReluDense.wi", "ffn_up"},
    {"layer.1.DenseReluDense.wi_0", "ffn_gate"},
    {"layer.1.DenseReluDense.wi_1", "ffn_up"},
    {"layer.1.DenseReluDense.wo", "ffn_down"},
    {"layer.1.layer_norm", "ffn_norm"},
};

constexpr Key kKeys[] = {
    {"n_positions", "context_length"},
    {"hidden_size", "embedding_length"},
    {"d_ff", "feed_forward_length"},
    {"num_hidden_layers", "block_count"},
    {"num_attention_heads", "attention.head_count"},
    {"head_dim", "attention.key_length"},
    {"head_dim", "attention.value_length"},
    {"layer_norm_epsilon", "attention.layer_norm_rms_epsilon", Key::Kind::kReal},
    {"vocab_size", "vocab_size"},
};

// The activation goes with the gate, so that the model tells it by the tensors.
Result<void> check_activation(Mapping& m) {
  constexpr const char* kKey = "feed_forward_proj";
  PUNA_TRY(const std::string type, m.config().text("model_type", ""));
  PUNA_TRY(const std::string kind, m.config().text(kKey, type == "t5" ? "relu" : "gated-gelu"));
  if (kind != "relu" && kind != "gated-gelu") {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The key \"{}\" of config.json is \"{}\"; relu and gated-gelu "
                                  "are supported.",
                                  kKey, kind));
  }
  const std::string gate = "encoder.block.0.layer.1.DenseReluDense.wi_0.weight";
  const bool has_gate = m.find(gate) != nullptr;
  if (has_gate == (kind == "gated-gelu")) return {};
  return base::fail(ErrorCode::kCorrupt,
                    fmt::format("The key \"{}\" of config.json is \"{}\", but there is {} tensor "
                                "\"{}\".",
                                kKey, kind, has_gate ? "a" : "no", gate));
}

}  // namespace

Result<void> map_t5(Mapping& m) {
  PUNA_TRY(check_activation(m));
  Config& config = m.config();
  config.also_called("hidden_size", "d_model");
  config.also_called("num_hidden_layers", "num_layers");
  config.also_called("num_attention_heads", "num_heads");
  config.also_called("head_dim", "d_kv");
  // Distances have no end; this is what the models were trained with.
  config.usually("n_positions", 512);
  config.usually("layer_norm_epsilon", 1e-6);
  PUNA_TRY(m.read_sizes());
  PUNA_TRY(m.copy(kKeys));
  PUNA_TRY(const uint64_t n_buckets, config.count("relative_attention_num_buckets", 32));
  PUNA_TRY(const uint64_t reach, config.count("relative_attention_max_distance", 128));
  m.set("attention.relative_buckets_count", n_buckets);
  if (reach != 128) m.set("attention.relative_max_distance", reach);
  m.set("attention.causal", false);
  // One table by either name, or by both.
  const bool shared = m.find("shared.weight") != nullptr;
  PUNA_TRY(m.rename(shared ? "shared.weight" : "encoder.embed_tokens.weight", "token_embd.weight"));
  if (shared) m.ignore("encoder.embed_tokens.");
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    const std::string layer = fmt::format("encoder.block.{}.", l);
    for (const Rename& r : kLayer) {
      PUNA_TRY(m.rename(fmt::format("{}{}.weight", layer, r.hf),
                        fmt::format("enc.{}.weight", layer_name(l, r.gguf))));
    }
  }
  PUNA_TRY(m.rename("encoder.final_layer_norm.weight", "enc.output_norm.weight"));
  if (m.find("decoder.final_layer_norm.weight")) {
    base::log_info("The decoder is left out: the encoder gives embeddings.");
    m.ignore("decoder.");
    m.ignore("lm_head.");
  }
  return put_products_behind_pooling(m);
}

}  // namespace puna::formats::hf
