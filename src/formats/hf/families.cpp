#include "formats/hf/families.h"

namespace puna::formats::hf {

namespace {

constexpr Family kFamilies[] = {
    {"apertus", "apertus", map_apertus, ".act_fn."},
    {"arcee", "arcee", map_arcee},
    {"bert", "jina-bert-v2", map_jina_bert_v2, "", has_alibi},
    {"bert", "bert", map_bert},
    {"bloom", "bloom", map_bloom},
    {"cohere", "command-r", map_cohere},
    {"cohere2", "cohere2", map_cohere2},
    {"deepseek_v2", "deepseek2", map_deepseek2},
    {"deepseek_v3", "deepseek2", map_deepseek3},
    {"ernie4_5", "ernie4_5", map_ernie4_5},
    {"ernie4_5_moe", "ernie4_5-moe", map_ernie4_5_moe},
    {"exaone4", "exaone4", map_exaone4},
    {"falcon", "falcon", map_falcon},
    {"falcon_h1", "falcon-h1", map_falcon_h1},
    {"falcon_mamba", "mamba", map_falcon_mamba},
    {"gemma2", "gemma2", map_gemma2},
    {"gemma3", "gemma3", map_gemma3},
    {"gemma3_text", "gemma-embedding", map_gemma_embedding, "", sees_both_ways},
    {"gemma3_text", "gemma3", map_gemma3},
    {"gemma4", "gemma4", map_gemma4},
    {"gemma4_text", "gemma4", map_gemma4},
    {"glm4", "glm4", map_glm4},
    {"glm4_moe", "glm4moe", map_glm4_moe},
    {"gpt2", "gpt2", map_gpt2},
    {"gpt_bigcode", "starcoder", map_gpt_bigcode},
    {"gpt_neox", "gptneox", map_gpt_neox},
    {"gpt_oss", "gpt-oss", map_gpt_oss},
    {"granite", "granite", map_granite},
    {"granitemoe", "granitemoe", map_granitemoe},
    {"granitemoehybrid", "granitehybrid", map_granite_hybrid},
    {"granitemoeshared", "granitemoe", map_granitemoe},
    {"hunyuan_v1_dense", "hunyuan-dense", map_hunyuan_dense},
    {"hunyuan_v1_moe", "hunyuan-moe", map_hunyuan_moe},
    {"internlm2", "internlm2", map_internlm2},
    {"jamba", "jamba", map_jamba},
    {"jina_embeddings_v3", "jina-bert-v3", map_jina_bert_v3},
    {"lfm2", "lfm2", map_lfm2},
    {"llama", "llama", map_llama},
    {"llama4", "llama4", map_llama4},
    {"llama4_text", "llama4", map_llama4},
    {"mamba", "mamba", map_mamba},
    {"mamba2", "mamba2", map_mamba2},
    {"minicpm", "minicpm", map_minicpm},
    {"minicpm3", "minicpm3", map_minicpm3},
    {"ministral3", "mistral3", map_ministral3},
    {"mistral", "llama", map_mistral},
    {"mistral3", "mistral3", map_ministral3},
    {"mixtral", "llama", map_mixtral},
    {"modernbert", "modern-bert", map_modern_bert},
    {"mpt", "mpt", map_mpt},
    {"mt5", "t5encoder", map_t5},
    {"nemotron", "nemotron", map_nemotron},
    {"nemotron_h", "nemotron_h", map_nemotron_h},
    {"nomic_bert", "nomic-bert-moe", map_nomic_bert, "", has_nomic_experts},
    {"nomic_bert", "nomic-bert", map_nomic_bert},
    {"olmo", "olmo", map_olmo},
    {"olmo2", "olmo2", map_olmo2},
    {"olmo3", "olmo2", map_olmo3},
    {"olmoe", "olmoe", map_olmoe},
    {"phi", "phi2", map_phi},
    {"phi3", "phi3", map_phi3},
    {"phimoe", "phimoe", map_phimoe},
    {"qwen2", "qwen2", map_qwen2},
    {"qwen2_5_vl", "qwen2vl", map_qwen2vl},
    {"qwen2_5_vl_text", "qwen2vl", map_qwen2vl},
    {"qwen2_moe", "qwen2moe", map_qwen2moe},
    {"qwen3", "qwen3", map_qwen3},
    {"qwen3_5", "qwen35", map_qwen35},
    {"qwen3_5_text", "qwen35", map_qwen35},
    {"qwen3_moe", "qwen3moe", map_qwen3moe},
    {"qwen3_next", "qwen3next", map_qwen3next},
    {"qwen3_vl_text", "qwen3vl", map_qwen3vl},
    {"rwkv6", "rwkv6", map_rwkv6},
    {"rwkv7", "rwkv7", map_rwkv7},
    {"seed_oss", "seed_oss", map_seed_oss},
    {"smollm3", "smollm3", map_smollm3},
    {"stablelm", "stablelm", map_stablelm},
    {"starcoder2", "starcoder2", map_starcoder2},
    {"t5", "t5encoder", map_t5},
    {"umt5", "t5encoder", map_t5},
    {"xlm-roberta", "jina-bert-v3", map_jina_bert_v3, "", has_rotary_positions},
    {"xlm-roberta", "bert", map_xlm_roberta},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family* find_family(const Config& config) {
  const auto type = config.text("model_type", "");
  for (const Family& family : kFamilies) {
    if (type && family.model_type == *type && (!family.when || family.when(config))) return &family;
  }
  return nullptr;
}

}  // namespace puna::formats::hf
