#include <fmt/format.h>

#include "formats/hf/families.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr Key kDecoderKeys[] = {
    {"num_hidden_layers", "block_count"},
    {"max_position_embeddings", "context_length"},
    {"hidden_size", "embedding_length"},
    {"intermediate_size", "feed_forward_length", Key::Kind::kCount, false},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv", Key::Kind::kCount, false},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon", Key::Kind::kReal, false},
    {"vocab_size", "vocab_size", Key::Kind::kCount, false},
};

// "weight" or "bias" of a fused q, k and v, as three.
Result<void> split_qkv(Mapping& m, uint32_t layer, const std::string& fused, const char* part,
                       How how_q, How how_k) {
  const std::string name = fused + part;
  const RawTensor* tensor = m.find(name);
  if (!tensor) return {};
  const uint64_t rows[] = {m.n_heads * m.head_dim, m.n_kv_heads * m.head_dim,
                           m.n_kv_heads * m.head_dim};
  const uint64_t heads[] = {m.n_heads, m.n_kv_heads, m.n_kv_heads};
  const How how[] = {how_q, how_k, How::kSame};
  const char* const names[] = {"attn_q", "attn_k", "attn_v"};
  uint64_t first = 0;
  for (int i = 0; i < 3; ++i) {
    PUNA_TRY(Strided view, m.view(name));
    view.slice(0, first, rows[i]);
    if (how[i] != How::kSame) view.split(0, {heads[i], 2, m.head_dim / 2}).swap(1, 2);
    first += rows[i];
    std::vector<uint64_t> shape = tensor->shape;
    shape[0] = rows[i];
    std::vector<Strided> parts;
    parts.push_back(std::move(view));
    PUNA_TRY(
        m.put(layer_name(layer, std::string(names[i]) + part), std::move(parts), std::move(shape)));
  }
  return {};
}

}  // namespace

Result<void> put_decoder_keys(Mapping& m) {
  PUNA_TRY(m.read_sizes());
  PUNA_TRY(m.copy(kDecoderKeys));
  if (m.head_dim > 0) {
    m.set("attention.key_length", m.head_dim);
    m.set("attention.value_length", m.head_dim);
  }
  return put_rope(m);
}

Result<void> put_ends(Mapping& m, How norm, std::string_view hf_norm, std::string_view norm_name) {
  PUNA_TRY(m.rename("model.embed_tokens.weight", "token_embd.weight"));
  PUNA_TRY(m.rename(std::string(hf_norm) + ".weight", std::string(norm_name) + ".weight", norm));
  PUNA_TRY(const bool tied, m.config().flag("tie_word_embeddings", false));
  if (tied) {
    m.ignore("lm_head.");  // some files hold the embeddings twice
    return {};
  }
  return m.rename("lm_head.weight", "output.weight");
}

Result<void> put_qkv(Mapping& m, uint32_t layer, How q, How k) {
  const std::string prefix = fmt::format("model.layers.{}.self_attn.", layer);
  const Rename apart[] = {{"q_proj", "attn_q", q}, {"k_proj", "attn_k", k}, {"v_proj", "attn_v"}};
  PUNA_TRY(m.rename_layer(layer, prefix, apart));
  for (const char* fused : {"qkv_proj", "c_attn"}) {
    for (const char* part : {".weight", ".bias"}) {
      PUNA_TRY(split_qkv(m, layer, prefix + fused, part, q, k));
    }
  }
  return {};
}

Result<void> put_gate_up(Mapping& m, uint32_t layer) {
  const std::string prefix = fmt::format("model.layers.{}.mlp.", layer);
  const Rename apart[] = {
      {"gate_proj", "ffn_gate"}, {"up_proj", "ffn_up"}, {"down_proj", "ffn_down"}};
  PUNA_TRY(m.rename_layer(layer, prefix, apart));
  const std::string fused = prefix + "gate_up_proj.weight";
  if (!m.find(fused)) return {};
  return put_halves(m, fused, layer_name(layer, "ffn_gate.weight"),
                    layer_name(layer, "ffn_up.weight"));
}

Result<void> put_halves(Mapping& m, const std::string& hf, std::string gate, std::string up) {
  std::string* const names[] = {&gate, &up};
  for (uint64_t half = 0; half < 2; ++half) {
    PUNA_TRY(Strided view, m.view(hf));
    std::vector<uint64_t> shape = view.tensor().shape;
    if (shape.size() < 2 || shape[shape.size() - 2] % 2 != 0) {
      return base::fail(ErrorCode::kCorrupt,
                        fmt::format("Tensor \"{}\" has no two halves of rows.", hf));
    }
    const size_t dim = shape.size() - 2;
    shape[dim] /= 2;
    view.slice(dim, half * shape[dim], shape[dim]);
    std::vector<Strided> parts;
    parts.push_back(std::move(view));
    PUNA_TRY(m.put(std::move(*names[half]), std::move(parts), std::move(shape)));
  }
  return {};
}

Result<uint64_t> put_expert_count(Mapping& m) {
  const bool newer = !m.config().has("num_experts") && m.config().has("num_local_experts");
  PUNA_TRY(const uint64_t n, m.config().count(newer ? "num_local_experts" : "num_experts"));
  m.set("expert_count", n);
  return n;
}

Result<void> put_experts(Mapping& m, uint32_t layer, const std::string& prefix,
                         uint64_t n_experts) {
  const std::string gate = layer_name(layer, "ffn_gate_exps.weight");
  const std::string up = layer_name(layer, "ffn_up_exps.weight");
  const std::string down = layer_name(layer, "ffn_down_exps.weight");
  if (m.find(prefix + ".gate_up_proj")) {
    PUNA_TRY(put_halves(m, prefix + ".gate_up_proj", gate, up));
    return m.rename(prefix + ".down_proj", down);
  }
  PUNA_TRY(m.stack_experts(prefix, "gate_proj.weight", n_experts, gate));
  PUNA_TRY(m.stack_experts(prefix, "up_proj.weight", n_experts, up));
  return m.stack_experts(prefix, "down_proj.weight", n_experts, down);
}

Result<void> check_layer_types(const Mapping& m, std::string_view sliding,
                               bool (*is_sliding)(uint32_t layer)) {
  PUNA_TRY(const std::vector<std::string> types, m.config().texts("layer_types"));
  for (uint32_t l = 0; l < types.size(); ++l) {
    if ((types[l] == sliding) == is_sliding(l)) continue;
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The key \"layer_types\" of config.json makes layer {} \"{}\", which is "
                    "another order than {} models have.",
                    l, types[l], m.architecture()));
  }
  return {};
}

}  // namespace puna::formats::hf
