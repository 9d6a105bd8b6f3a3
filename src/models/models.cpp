#include "models/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/builder.h"
#include "plan/early_head.h"
#include "plan/embeddings.h"

namespace puna::models {

using base::ErrorCode;
using base::Result;
using formats::ModelFile;

namespace {

constexpr Architecture kArchitectures[] = {
    {"apertus", build_apertus},
    {"arcee", build_arcee},
    {"bert", build_bert},
    {"bloom", build_bloom},
    {"codeshell", build_starcoder2},
    {"cohere2", build_cohere2},
    {"command-r", build_command_r},
    {"deepseek2", build_deepseek2},
    {"ernie4_5", build_ernie4_5},
    {"ernie4_5-moe", build_ernie4_5_moe},
    {"exaone4", build_exaone4},
    {"falcon", build_falcon},
    {"falcon-h1", build_falcon_h1},
    {"gemma-embedding", build_gemma_embedding, /*attention=*/true, /*causal=*/false},
    {"gemma2", build_gemma2},
    {"gemma3", build_gemma3},
    {"gemma4", build_gemma4},
    {"glm4", build_glm4},
    {"glm4moe", build_glm4moe},
    {"gpt-oss", build_gpt_oss},
    {"gpt2", build_gpt2},
    {"gptneox", build_gptneox},
    {"granite", build_granite},
    {"granitehybrid", build_granite_hybrid},
    {"granitemoe", build_granite},
    {"hunyuan-dense", build_hunyuan_dense},
    {"hunyuan-moe", build_hunyuan_moe},
    {"internlm2", build_llama},
    {"jamba", build_jamba},
    {"jina-bert-v2", build_bert, /*attention=*/true, /*causal=*/false},
    {"jina-bert-v3", build_bert, /*attention=*/true, /*causal=*/false},
    {"lfm2", build_lfm2},
    {"llama", build_llama},
    {"llama4", build_llama4},
    {"mamba", build_mamba, /*attention=*/false},
    {"mamba2", build_mamba2, /*attention=*/false},
    {"minicpm", build_minicpm},
    {"minicpm3", build_minicpm3},
    {"mistral3", build_mistral3},
    {"modern-bert", build_modern_bert, /*attention=*/true, /*causal=*/false},
    {"mpt", build_mpt},
    {"nemotron", build_nemotron},
    {"nemotron_h", build_nemotron_h},
    {"nomic-bert", build_bert},
    {"nomic-bert-moe", build_bert, /*attention=*/true, /*causal=*/false},
    {"olmo", build_olmo},
    {"olmo2", build_olmo2},
    {"olmoe", build_olmoe},
    {"phi2", build_phi2},
    {"phi3", build_phi3},
    {"phimoe", build_phimoe},
    {"qwen2", build_qwen2},
    {"qwen2moe", build_qwen2moe},
    {"qwen2vl", build_qwen2vl},
    {"qwen3", build_qwen3},
    {"qwen35", build_qwen35},
    {"qwen3moe", build_qwen3moe},
    {"qwen3next", build_qwen3next},
    {"qwen3vl", build_qwen3vl},
    {"rwkv6", build_rwkv6, /*attention=*/false},
    {"rwkv7", build_rwkv7, /*attention=*/false},
    {"seed_oss", build_seed_oss},
    {"smollm3", build_smollm3},
    {"stablelm", build_stablelm},
    {"starcoder", build_gpt2},
    {"starcoder2", build_starcoder2},
    {"t5encoder", build_t5_encoder, /*attention=*/true, /*causal=*/false},
};

constexpr uint64_t kMostHeads = 1 << 14;

Result<uint32_t> count_or(const ModelFile& file, const std::string& key, uint64_t limit,
                          uint32_t otherwise) {
  if (!file.find(key)) return otherwise;
  return count(file, key, limit);
}

Result<std::optional<Pooling>> read_pooling(const ModelFile& file, const std::string& key) {
  if (!file.find(key)) return std::optional<Pooling>();
  if (const auto unknown = formats::as_int(key, *file.find(key)); unknown && *unknown == -1)
    return std::optional<Pooling>();
  PUNA_TRY(const uint64_t kind, file.get_uint(key));
  if (kind > static_cast<uint64_t>(Pooling::kRank)) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The key \"{}\" is {}; 0 to 4 (none, mean, cls, last, rank) are "
                                  "supported.",
                                  key, kind));
  }
  return std::optional(static_cast<Pooling>(kind));
}

const Architecture* find(std::string_view name) {
  for (const Architecture& a : kArchitectures) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

}  // namespace

std::string_view name(Pooling pooling) {
  constexpr std::string_view kNames[] = {"none", "mean", "cls", "last", "rank"};
  return kNames[static_cast<size_t>(pooling)];
}

Result<std::vector<uint32_t>> layer_counts(const ModelFile& file, const std::string& key,
                                           const Config& c) {
  constexpr uint64_t kMost = 1 << 22;
  const formats::Value* value = file.find(key);
  if (!value) return std::vector<uint32_t>();
  PUNA_TRY(std::vector<uint64_t> counts, formats::as_uints(key, *value));
  PUNA_TRY(counts, of_layers(key, std::move(counts), c));
  if (const uint64_t most = std::ranges::max(counts); most > kMost) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("The key \"{}\" is {}, but up to {} is expected.", key, most, kMost));
  }
  return std::vector<uint32_t>(counts.begin(), counts.end());
}

Result<uint32_t> count(const ModelFile& file, const std::string& key, uint64_t limit) {
  PUNA_TRY(const uint64_t v, file.get_uint(key));
  if (v == 0 || v > limit) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"{}\" is {}, but 1 to {} is expected.", key, v, limit));
  }
  return static_cast<uint32_t>(v);
}

Result<float> positive(const ModelFile& file, std::string_view key, double otherwise) {
  PUNA_TRY(const double v, file.get_float(key, otherwise));
  if (!(v > 0) || !std::isfinite(v)) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("The key \"{}\" is {}, but a positive number is expected.", key, v));
  }
  return static_cast<float>(v);
}

Result<float> factor(const ModelFile& file, std::string_view key, double otherwise) {
  PUNA_TRY(const double v, file.get_float(key, otherwise));
  return v == 0 ? static_cast<float>(otherwise) : positive(file, key, otherwise);
}

namespace {

// The heads of each layer. Their number is one; a layer that lists none has no attention.
Result<void> read_heads(const ModelFile& file, const std::string& p, Config& c) {
  const std::string key = p + "attention.head_count";
  if (!file.find(key)) return std::unexpected(file.get_uint(key).error());
  PUNA_TRY(const std::vector<uint32_t> heads, layer_counts(file, key, c));
  c.n_heads = std::ranges::max(heads);
  if (c.n_heads == 0 || c.n_heads > kMostHeads) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("The key \"{}\" is {}, but 1 to {} is expected.", key, c.n_heads, kMostHeads));
  }
  PUNA_TRY(c.kv_heads, layer_counts(file, p + "attention.head_count_kv", c));
  if (c.kv_heads.empty()) c.kv_heads = heads;
  c.n_kv_heads = std::ranges::max(c.kv_heads);
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    if (heads[l] == c.n_heads || (heads[l] == 0 && c.kv_heads[l] == 0)) continue;
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The key \"{}\" lists {} heads for one layer and {} for layer {}; one number "
                    "for all layers is supported.",
                    key, c.n_heads, heads[l], l));
  }
  return {};
}

Result<void> read_rope_bases(const ModelFile& file, const std::string& key, Config& c) {
  std::vector<double> bases = {10000.0};
  if (const formats::Value* value = file.find(key)) {
    PUNA_TRY(bases, formats::as_floats(key, *value));
  }
  PUNA_TRY(bases, of_layers(key, std::move(bases), c));
  for (const double v : bases) {
    if (v > 0 && std::isfinite(v)) continue;
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("The key \"{}\" is {}, but a positive number is expected.", key, v));
  }
  c.rope_bases.assign(bases.begin(), bases.end());
  c.rope_base = c.rope_bases.front();
  return {};
}

// The heads, their sizes and how they turn; the FFN.
Result<void> read_layers(const ModelFile& file, const std::string& p, Config& c) {
  PUNA_TRY(const auto ffn, layer_counts(file, p + "feed_forward_length", c));
  c.ffn = ffn.empty() ? 0 : *std::ranges::max_element(ffn);
  PUNA_TRY(read_heads(file, p, c));
  PUNA_TRY(c.head_dim, count_or(file, p + "attention.key_length", kMostHeads,
                                std::max(1u, c.hidden / c.n_heads)));
  PUNA_TRY(const uint32_t value_dim,
           count_or(file, p + "attention.value_length", kMostHeads, c.head_dim));
  // With a compressed cache (deepseek2) the values are part of the keys.
  if (value_dim != c.head_dim && !file.find(p + "attention.kv_lora_rank")) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("Keys of {} and values of {} elements a head are not supported for \"{}\".",
                    c.head_dim, value_dim, c.architecture));
  }
  PUNA_TRY(read_rope_bases(file, p + "rope.freq_base", c));
  PUNA_TRY(c.n_rot, count_or(file, p + "rope.dimension_count", kMostHeads, c.head_dim));
  if (c.n_rot > c.head_dim || c.n_rot % 2 != 0) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format(
            "The key \"{}rope.dimension_count\" is {}, but an even number up to {} is expected.", p,
            c.n_rot, c.head_dim));
  }
  return read_rope_scaling(file, c);
}

}  // namespace

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
  c.name = file.get_string("general.name", "").value_or("");  // nothing depends on it
  const std::string p = c.architecture + ".";
  PUNA_TRY(c.n_blocks, count(file, p + "block_count", 4096));
  PUNA_TRY(const uint64_t n_predicting, file.get_uint(p + "nextn_predict_layers", 0));
  if (n_predicting >= c.n_blocks) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"{}nextn_predict_layers\" is {} of {} blocks.", p,
                                  n_predicting, c.n_blocks));
  }
  c.n_layers = c.n_blocks - static_cast<uint32_t>(n_predicting);
  PUNA_TRY(c.hidden, count(file, p + "embedding_length", 1 << 20));
  PUNA_TRY(c.context, count(file, p + "context_length", uint64_t{1} << 30));
  PUNA_TRY(c.norm_eps, positive(file, p + "attention.layer_norm_rms_epsilon", 1e-6));
  const Architecture& architecture = *find(c.architecture);
  if (architecture.attention) PUNA_TRY(read_layers(file, p, c));
  PUNA_TRY(c.causal, file.get_bool(p + "attention.causal", architecture.causal));
  // Such a model takes a text in one step.
  if (!c.causal) c.usual_context = kernels::kMaxStepTokens;
  PUNA_TRY(c.pooling, read_pooling(file, p + "pooling_type"));
  const formats::Tensor* table = file.find_tensor("token_embd.weight");
  if (!table) return base::fail(ErrorCode::kNotFound, "Tensor \"token_embd.weight\" is missing.");
  c.vocab = static_cast<uint32_t>(std::min<uint64_t>(table->rows(), UINT32_MAX));
  return c;
}

Result<plan::Graph> build(const ModelFile& file, const Config& config) {
  PUNA_TRY(plan::Graph graph, find(config.architecture)->build(file, config));
  return graph.embeds ? std::move(graph) : plan::begin_head_early(std::move(graph));
}

Pooling pooling_of(const Config& config, const std::optional<Pooling>& asked) {
  if (asked) return *asked;
  return config.pooling.value_or(config.causal ? Pooling::kLast : Pooling::kMean);
}

Result<plan::Graph> build_embeddings(const ModelFile& file, const Config& config, Pooling pooling) {
  PUNA_TRY(plan::Graph graph, find(config.architecture)->build(file, config));
  PUNA_TRY(graph, plan::embeddings_of(std::move(graph)));
  if (pooling != Pooling::kRank) return graph;
  const plan::Value rows{graph.logits};
  plan::Builder b(file, std::move(graph));
  if (!b.has("cls.output.weight")) {
    return base::fail(ErrorCode::kUnsupported,
                      "The pooling \"rank\" needs a classifier, but there is no tensor "
                      "\"cls.output.weight\".");
  }
  plan::Value x = rows;
  if (b.has("cls.norm.weight")) {  // ModernBERT's
    PUNA_TRY(const float eps,
             positive(file, config.architecture + ".attention.layer_norm_epsilon", 1e-5));
    x = b.activated("cls.weight", x, kernels::Activation::kGeluErf);
    x = b.layer_norm(x, "cls.norm.weight", eps);
  } else if (b.has("cls.weight")) {
    x = b.activated("cls.weight", x, kernels::Activation::kTanh);
  }
  return b.finish_embeddings(b.matmul({"cls.output.weight"}, x));
}

}  // namespace puna::models
