// Architectures: each file of this room turns a model file's metadata into a Config and its layers
// into builder words. The table in models.cpp is the index. Read next: llama.cpp, the plainest one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/model_file.h"
#include "plan/graph.h"

namespace puna::models {

// What every architecture has, read and checked from metadata.
struct Config {
  std::string architecture;  // general.architecture
  std::string name;          // general.name, may be empty
  uint32_t n_layers = 0;
  uint32_t hidden = 0;
  uint32_t ffn = 0;
  uint32_t n_heads = 0;
  uint32_t n_kv_heads = 0;
  uint32_t head_dim = 0;
  uint32_t vocab = 0;
  uint32_t context = 0;  // trained context length
  float norm_eps = 1e-6f;
  float rope_base = 10000.0f;
  uint32_t n_rot = 0;
  float rope_freq_scale = 1.0f;  // linear scaling
};

struct Architecture {
  std::string_view name;  // general.architecture
  // The whole forward pass. Errors: kNotFound (tensor or key), kCorrupt (shapes), kUnsupported (an
  // option not built yet, named).
  base::Result<plan::Graph> (*build)(const formats::ModelFile& file, const Config& config);
};

std::span<const Architecture> architectures();

// Errors: kNotFound, kCorrupt naming the key; kUnsupported naming the architecture and those that
// exist.
base::Result<Config> read_config(const formats::ModelFile& file);
base::Result<plan::Graph> build(const formats::ModelFile& file, const Config& config);

// A key that must hold a positive number. Errors: kCorrupt naming it.
base::Result<float> positive(const formats::ModelFile& file, std::string_view key,
                             double otherwise);

base::Result<plan::Graph> build_gemma2(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_gemma3(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_granite(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_llama(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_qwen2(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_qwen3(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_qwen3moe(const formats::ModelFile& file, const Config& config);
base::Result<plan::Graph> build_smollm3(const formats::ModelFile& file, const Config& config);

}  // namespace puna::models
