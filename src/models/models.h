// Architectures: each file of this room turns a model file's metadata into a Config and its layers
// into builder words. The table in models.cpp is the index. Read next: llama.cpp, the plainest one.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/model_file.h"
#include "plan/graph.h"

namespace puna::models {

// How the rows of a text become one embedding: its mean, its first row, its last, or a score that a
// classifier makes of one; kNone keeps all rows. The numbers are GGUF's.
enum class Pooling : uint8_t { kNone = 0, kMean = 1, kCls = 2, kLast = 3, kRank = 4 };
std::string_view name(Pooling pooling);

// What every architecture has, read and checked from metadata.
struct Config {
  std::string architecture;  // general.architecture
  std::string name;          // general.name, may be empty
  uint32_t n_layers = 0;
  uint32_t n_blocks = 0;  // layers, and blocks behind them that predict further tokens; unused
  uint32_t hidden = 0;
  uint32_t ffn = 0;
  uint32_t n_heads = 0;
  uint32_t n_kv_heads = 0;         // the most of any layer
  std::vector<uint32_t> kv_heads;  // by layer; 0 = it has no attention
  uint32_t head_dim = 0;
  uint32_t vocab = 0;
  uint32_t context = 0;  // trained context length
  float norm_eps = 1e-6f;
  float rope_base = 10000.0f;     // of the first layer
  std::vector<float> rope_bases;  // by layer
  uint32_t n_rot = 0;
  float rope_freq_scale = 1.0f;  // 1 / the factor that the context is stretched by
  kernels::Yarn yarn;
  float rope_magnitude = 1.0f;
  uint32_t original_context = 0;  // before it was stretched
  uint32_t usual_context = 0;     // what the default context should not exceed; 0 = no such bound
  // Tokens a sequence may hold; set between read_config() and build(), for models whose weights
  // depend on it.
  uint32_t planned_context = 0;
  // Prompts may have rows of media; set as planned_context is, for what models do only then.
  bool media = false;
  bool causal = true;              // false: a token sees those after it too
  std::optional<Pooling> pooling;  // of embeddings, where the file says
};

struct Architecture {
  std::string_view name;  // general.architecture
  // The whole forward pass. Errors: kNotFound (tensor or key), kCorrupt (shapes), kUnsupported (an
  // option not built yet, named).
  base::Result<plan::Graph> (*build)(const formats::ModelFile& file, const Config& config);
  bool attention = true;  // false: there are no heads and no FFN; their keys are not read
  bool causal = true;     // of a file that does not say
};

std::span<const Architecture> architectures();

// Errors: kNotFound, kCorrupt naming the key; kUnsupported naming the architecture and those that
// exist.
base::Result<Config> read_config(const formats::ModelFile& file);
base::Result<plan::Graph> build(const formats::ModelFile& file, const Config& config);

// The pooling asked for, else the file's, else the last row of a causal model and the mean of
// another.
Pooling pooling_of(const Config& config, const std::optional<Pooling>& asked);
// The graph that gives embeddings, or with kRank the scores of the file's classifier. Errors: also
// kUnsupported for kRank without a classifier.
base::Result<plan::Graph> build_embeddings(const formats::ModelFile& file, const Config& config,
                                           Pooling pooling);
// A key that must hold a count, within a bound that no real model exceeds, so that products cannot
// overflow. Errors: kNotFound, kCorrupt naming the key.
base::Result<uint32_t> count(const formats::ModelFile& file, const std::string& key,
                             uint64_t limit);

// A count for each layer: a list, or one number for all; empty without the key. Errors: kCorrupt
// naming the key.
base::Result<std::vector<uint32_t>> layer_counts(const formats::ModelFile& file,
                                                 const std::string& key, const Config& c);

// What `key` lists as one item for each layer, of one item for all or of those of all blocks.
// Errors: kCorrupt naming the key.
template <class T>
base::Result<std::vector<T>> of_layers(const std::string& key, std::vector<T> items,
                                       const Config& c) {
  if (items.size() == 1) return std::vector<T>(c.n_layers, items.front());
  if (items.size() == c.n_blocks) items.resize(c.n_layers);
  if (items.size() == c.n_layers) return items;
  return base::fail(
      base::ErrorCode::kCorrupt,
      fmt::format("The key \"{}\" lists {} items for {} layers.", key, items.size(), c.n_layers));
}

// The fields of rope scaling. Errors: kUnsupported naming the kind, kCorrupt naming the key.
base::Result<void> read_rope_scaling(const formats::ModelFile& file, Config& config);

// Which coordinate of a position each pair turns by, "rope.dimension_sections". Errors: kNotFound,
// kCorrupt naming the key; kUnsupported for a fourth coordinate.
base::Result<kernels::RopeSections> read_rope_sections(const formats::ModelFile& file,
                                                       const Config& c,
                                                       kernels::SectionOrder order);

// A key that must hold a positive number. Errors: kCorrupt naming it.
base::Result<float> positive(const formats::ModelFile& file, std::string_view key,
                             double otherwise);
// The same for a factor, of which files write 0 for none.
base::Result<float> factor(const formats::ModelFile& file, std::string_view key, double otherwise);

base::Result<plan::Graph> build_apertus(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_arcee(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_bert(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_cohere2(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_command_r(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_ernie4_5(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_ernie4_5_moe(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_exaone4(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_bloom(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_falcon(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_falcon_h1(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_deepseek2(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_gemma2(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_gemma3(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_gemma4(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_gemma_embedding(const formats::ModelFile& file,
                                                const Config& config);
base::Result<plan::Graph> build_glm4(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_glm4moe(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_gpt2(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_gpt_oss(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_gptneox(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_granite(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_granite_hybrid(const formats::ModelFile& file,
                                               const Config& config);
base::Result<plan::Graph> build_hunyuan_dense(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_hunyuan_moe(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_lfm2(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_llama(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_llama4(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_minicpm(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_minicpm3(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_mistral3(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_modern_bert(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_nemotron(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_nemotron_h(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_mpt(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_olmo(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_olmo2(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_olmoe(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_phi2(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_phi3(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_jamba(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_mamba(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_mamba2(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_phimoe(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_qwen2(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_qwen2moe(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_qwen2vl(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_qwen3(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_qwen3next(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_qwen3moe(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_qwen3vl(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_qwen35(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_rwkv6(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_rwkv7(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_seed_oss(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_smollm3(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_stablelm(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_starcoder2(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_t5_encoder(const formats::ModelFile& file, const Config& config);

}  // namespace puna::models
