#include "models/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace puna::models {

using base::ErrorCode;
using base::Result;
using formats::ModelFile;

namespace {

constexpr Architecture kArchitectures[] = {
    {"gemma2", build_gemma2},     {"gemma3", build_gemma3},   {"granite", build_granite},
    {"llama", build_llama},       {"qwen2", build_qwen2},     {"qwen3", build_qwen3},
    {"qwen3moe", build_qwen3moe}, {"smollm3", build_smollm3},
};

// A count from metadata, within bounds no real model exceeds, so that products below cannot
// overflow.
Result<uint32_t> count(const ModelFile& file, const std::string& key, uint64_t limit) {
  PUNA_TRY(const uint64_t v, file.get_uint(key));
  if (v == 0 || v > limit) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"{}\" is {}, but 1 to {} is expected.", key, v, limit));
  }
  return static_cast<uint32_t>(v);
}

Result<uint32_t> count_or(const ModelFile& file, const std::string& key, uint64_t limit,
                          uint32_t otherwise) {
  if (!file.find(key)) return otherwise;
  return count(file, key, limit);
}

const Architecture* find(std::string_view name) {
  for (const Architecture& a : kArchitectures) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

}  // namespace

Result<float> positive(const ModelFile& file, std::string_view key, double otherwise) {
  PUNA_TRY(const double v, file.get_float(key, otherwise));
  if (!(v > 0) || !std::isfinite(v)) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("The key \"{}\" is {}, but a positive number is expected.", key, v));
  }
  return static_cast<float>(v);
}

std::span<const Architecture> architectures() { return kArchitectures; }

Result<Config> read_config(const ModelFile& file) {
  Config c;
  PUNA_TRY(c.architecture, file.get_string("general.architecture"));
  if (!find(c.architecture)) {
    std::string known;
    for (const Architecture& a : kArchitectures)
      known += (known.empty() ? "" : ", ") + std::string(a.name);
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The architecture \"{}\" is not supported (supported: {}).",
                                  c.architecture, known));
  }
  PUNA_TRY(c.name, file.get_string("general.name", ""));
  const std::string p = c.architecture + ".";
  PUNA_TRY(c.n_layers, count(file, p + "block_count", 4096));
  PUNA_TRY(c.hidden, count(file, p + "embedding_length", 1 << 20));
  PUNA_TRY(c.ffn, count(file, p + "feed_forward_length", 1 << 22));
  PUNA_TRY(c.n_heads, count(file, p + "attention.head_count", 1 << 14));
  PUNA_TRY(c.n_kv_heads, count_or(file, p + "attention.head_count_kv", 1 << 14, c.n_heads));
  PUNA_TRY(c.head_dim,
           count_or(file, p + "attention.key_length", 1 << 14, std::max(1u, c.hidden / c.n_heads)));
  PUNA_TRY(const uint32_t value_dim,
           count_or(file, p + "attention.value_length", 1 << 14, c.head_dim));
  if (value_dim != c.head_dim) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("Keys of {} and values of {} elements a head are not supported for \"{}\".",
                    c.head_dim, value_dim, c.architecture));
  }
  PUNA_TRY(c.context, count(file, p + "context_length", uint64_t{1} << 30));
  PUNA_TRY(c.norm_eps, positive(file, p + "attention.layer_norm_rms_epsilon", 1e-6));
  PUNA_TRY(c.rope_base, positive(file, p + "rope.freq_base", 10000.0));
  PUNA_TRY(c.n_rot, count_or(file, p + "rope.dimension_count", 1 << 14, c.head_dim));
  if (c.n_rot > c.head_dim || c.n_rot % 2 != 0) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format(
            "The key \"{}rope.dimension_count\" is {}, but an even number up to {} is expected.", p,
            c.n_rot, c.head_dim));
  }
  PUNA_TRY(const std::string scaling, file.get_string(p + "rope.scaling.type", "none"));
  if (scaling == "linear") {
    PUNA_TRY(const float factor, positive(file, p + "rope.scaling.factor", 1.0));
    c.rope_freq_scale = 1.0f / factor;
  } else if (scaling != "none") {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The rope scaling \"{}\" is not supported (supported: none, linear).",
                    scaling));
  }
  const formats::Tensor* table = file.find_tensor("token_embd.weight");
  if (!table) return base::fail(ErrorCode::kNotFound, "Tensor \"token_embd.weight\" is missing.");
  c.vocab = static_cast<uint32_t>(std::min<uint64_t>(table->rows(), UINT32_MAX));
  if (!file.vocabulary.tokens.empty() && file.vocabulary.tokens.size() != c.vocab) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("The vocabulary has {} tokens, but the embedding table has {} rows.",
                    file.vocabulary.tokens.size(), c.vocab));
  }
  return c;
}

Result<plan::Graph> build(const ModelFile& file, const Config& config) {
  return find(config.architecture)->build(file, config);
}

}  // namespace puna::models
