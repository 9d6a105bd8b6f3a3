#include <fmt/format.h>

#include "base/log.h"
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
    {"layer_norm_eps", "attention.layer_norm_epsilon", Key::Kind::kReal, false},
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

Result<void> put_size_keys(Mapping& m) {
  PUNA_TRY(m.read_sizes());
  PUNA_TRY(m.copy(kDecoderKeys));
  if (m.head_dim > 0) {
    m.set("attention.key_length", m.head_dim);
    m.set("attention.value_length", m.head_dim);
  }
  return {};
}

Result<void> put_decoder_keys(Mapping& m) {
  PUNA_TRY(put_size_keys(m));
  return put_rope(m);
}

Result<void> put_ends(Mapping& m, How norm, std::string_view hf_norm, std::string_view norm_name) {
  PUNA_TRY(m.rename("model.embed_tokens.weight", "token_embd.weight"));
  PUNA_TRY(m.rename(std::string(hf_norm) + ".weight", std::string(norm_name) + ".weight", norm));
  PUNA_TRY(m.rename(std::string(hf_norm) + ".bias", std::string(norm_name) + ".bias"));
  return put_output(m);
}

Result<void> put_output(Mapping& m, const std::string& hf) {
  PUNA_TRY(const bool tied, m.config().flag("tie_word_embeddings", false));
  if (tied) {
    m.ignore(hf + ".");  // some files hold the embeddings twice
    return {};
  }
  PUNA_TRY(m.rename(hf + ".bias", "output.bias"));
  return m.rename(hf + ".weight", "output.weight");
}

Result<void> put_state_space_model(Mapping& m) {
  const Config& c = m.config();
  PUNA_TRY(m.read_sizes());
  PUNA_TRY(c.must_be("use_bias", false));
  PUNA_TRY(const double eps, c.real("layer_norm_epsilon", 1e-5));
  PUNA_TRY(const uint64_t vocab, c.count("vocab_size"));
  m.set("context_length", uint64_t{1} << 20);  // there is no bound
  m.set("embedding_length", m.hidden);
  m.set("feed_forward_length", uint64_t{0});
  m.set("attention.head_count", uint64_t{0});
  m.set("block_count", uint64_t{m.n_layers});
  m.set("attention.layer_norm_rms_epsilon", eps);
  m.set("vocab_size", vocab);
  PUNA_TRY(m.rename("backbone.embeddings.weight", "token_embd.weight"));
  PUNA_TRY(m.rename("backbone.norm_f.weight", "output_norm.weight"));
  return put_output(m);
}

Result<void> put_decoder_layers(Mapping& m, std::span<const Rename> layer, How q, How k) {
  for (uint32_t l = 0; l < m.n_layers; ++l) {
    PUNA_TRY(m.rename_layer(l, fmt::format("model.layers.{}.", l), layer));
    PUNA_TRY(put_qkv(m, l, q, k));
    PUNA_TRY(put_gate_up(m, l));
  }
  return {};
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

Result<void> bound_by_window(Mapping& m) {
  if (!m.config().has("sliding_window")) return {};
  PUNA_TRY(const uint64_t window, m.config().count("sliding_window"));
  PUNA_TRY(const uint64_t context, m.config().count("max_position_embeddings"));
  if (window == 0 || window >= context) return {};
  base::log_warning("The model attends to the last {} tokens only; the context ends there.",
                    window);
  m.set("context_length", window);
  return {};
}

Result<void> put_grouped_qkv(Mapping& m, const std::string& hf, const Pieces& to, uint64_t n_groups,
                             How how) {
  if (n_groups == 0 || m.n_heads == 0 || m.n_heads % n_groups != 0 || m.head_dim % 2 != 0) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("config.json gives {} heads of {} elements over {} KV heads.",
                                  m.n_heads, m.head_dim, n_groups));
  }
  const uint64_t queries = m.n_heads / n_groups;
  for (const char* part : {".weight", ".bias"}) {
    const RawTensor* tensor = m.find(hf + part);
    if (!tensor) continue;
    const uint64_t first[] = {0, queries, queries + 1}, heads[] = {queries, 1, 1};
    std::vector<Strided> parts;
    for (size_t i = 0; i < 3; ++i) {
      PUNA_TRY(Strided view, m.view(hf + part));
      view.split(0, {n_groups, queries + 2, m.head_dim}).slice(1, first[i], heads[i]);
      if (how != How::kSame && i < 2) view.split(2, {2, m.head_dim / 2}).swap(2, 3);
      parts.push_back(std::move(view));
    }
    std::vector<uint64_t> shape = tensor->shape;
    if (to.size() == 1) {
      PUNA_TRY(m.put(to[0] + part, std::move(parts), std::move(shape)));
      continue;
    }
    for (size_t i = 0; i < 3; ++i) {
      shape[0] = n_groups * heads[i] * m.head_dim;
      PUNA_TRY(m.put(to[i] + part, {parts[i]}, shape));
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

Result<void> put_products_behind_pooling(Mapping& m) {
  for (const std::string name : {"dense_2", "dense_3"}) {
    const RawTensor* const weight = m.find(name + ".weight");
    if (weight && weight->shape.size() == 2) {
      m.set(name + "_feat_in", weight->shape[1]);
      m.set(name + "_feat_out", weight->shape[0]);
    }
    for (const char* part : {".weight", ".bias"}) {
      PUNA_TRY(m.rename(name + part, name + part));
    }
  }
  return {};
}

}  // namespace puna::formats::hf
