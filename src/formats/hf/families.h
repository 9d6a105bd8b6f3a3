// The table of models that folders hold: what config.json calls them, what GGUF calls their
// architecture, and the function that maps one to the other. Each file beside this one has a group
// of them; llama.cpp is the plainest. Read first: mapping.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/hf/mapping.h"

namespace puna::formats::hf {

struct Family {
  std::string_view model_type;  // of config.json
  std::string_view architecture;
  // Fills in metadata and tensors. Errors: kNotFound and kCorrupt naming key or tensor,
  // kUnsupported naming an option that the model in src/models has not.
  base::Result<void> (*map)(Mapping& m);
  // Tensors of one element whose names have this in them are read before; empty = none. GGUF keeps
  // such parameters as metadata.
  std::string_view scalars = {};
  // The row is of those models only whose config.json says so; null = of all.
  bool (*when)(const Config& config) = nullptr;
};

std::span<const Family> families();
// The first row for a model of this config.json; nullptr when there is none.
const Family* find_family(const Config& config);

base::Result<void> map_llama(Mapping& m);
base::Result<void> map_mistral(Mapping& m);
base::Result<void> map_smollm3(Mapping& m);
base::Result<void> map_granite(Mapping& m);
base::Result<void> map_ministral3(Mapping& m);
base::Result<void> map_qwen2(Mapping& m);
base::Result<void> map_qwen3(Mapping& m);
base::Result<void> map_qwen2vl(Mapping& m);
base::Result<void> map_qwen3vl(Mapping& m);
base::Result<void> map_phi3(Mapping& m);
base::Result<void> map_olmo2(Mapping& m);
base::Result<void> map_olmo3(Mapping& m);
base::Result<void> map_gemma2(Mapping& m);
base::Result<void> map_gemma3(Mapping& m);
base::Result<void> map_gemma4(Mapping& m);
bool sees_both_ways(const Config& config);
base::Result<void> map_gemma_embedding(Mapping& m);
base::Result<void> map_qwen3moe(Mapping& m);
base::Result<void> map_gpt_oss(Mapping& m);
base::Result<void> map_deepseek2(Mapping& m);
base::Result<void> map_deepseek3(Mapping& m);
base::Result<void> map_qwen3next(Mapping& m);
base::Result<void> map_qwen35(Mapping& m);
base::Result<void> map_mamba(Mapping& m);
base::Result<void> map_falcon_mamba(Mapping& m);
base::Result<void> map_jamba(Mapping& m);
base::Result<void> map_mamba2(Mapping& m);
base::Result<void> map_falcon_h1(Mapping& m);
base::Result<void> map_granite_hybrid(Mapping& m);
base::Result<void> map_lfm2(Mapping& m);
base::Result<void> map_bloom(Mapping& m);
base::Result<void> map_falcon(Mapping& m);
base::Result<void> map_gpt2(Mapping& m);
base::Result<void> map_gpt_bigcode(Mapping& m);
base::Result<void> map_gpt_neox(Mapping& m);
base::Result<void> map_internlm2(Mapping& m);
base::Result<void> map_mixtral(Mapping& m);
base::Result<void> map_mpt(Mapping& m);
base::Result<void> map_olmo(Mapping& m);
base::Result<void> map_olmoe(Mapping& m);
base::Result<void> map_phi(Mapping& m);
base::Result<void> map_phimoe(Mapping& m);
base::Result<void> map_qwen2moe(Mapping& m);
base::Result<void> map_stablelm(Mapping& m);
base::Result<void> map_starcoder2(Mapping& m);
base::Result<void> map_bert(Mapping& m);
base::Result<void> map_jina_bert_v2(Mapping& m);
bool has_alibi(const Config& config);
base::Result<void> map_nomic_bert(Mapping& m);
bool has_nomic_experts(const Config& config);
base::Result<void> map_apertus(Mapping& m);
base::Result<void> map_arcee(Mapping& m);
base::Result<void> map_cohere(Mapping& m);
base::Result<void> map_cohere2(Mapping& m);
base::Result<void> map_ernie4_5(Mapping& m);
base::Result<void> map_ernie4_5_moe(Mapping& m);
base::Result<void> map_exaone4(Mapping& m);
base::Result<void> map_glm4(Mapping& m);
base::Result<void> map_glm4_moe(Mapping& m);
base::Result<void> map_granitemoe(Mapping& m);
base::Result<void> map_hunyuan_dense(Mapping& m);
base::Result<void> map_hunyuan_moe(Mapping& m);
base::Result<void> map_llama4(Mapping& m);
base::Result<void> map_minicpm(Mapping& m);
base::Result<void> map_minicpm3(Mapping& m);
base::Result<void> map_modern_bert(Mapping& m);
base::Result<void> map_nemotron(Mapping& m);
base::Result<void> map_nemotron_h(Mapping& m);
base::Result<void> map_rwkv6(Mapping& m);
base::Result<void> map_rwkv7(Mapping& m);
base::Result<void> map_seed_oss(Mapping& m);
base::Result<void> map_t5(Mapping& m);
base::Result<void> map_xlm_roberta(Mapping& m);
base::Result<void> map_jina_bert_v3(Mapping& m);
bool has_rotary_positions(const Config& config);

// What families share (common.cpp).

// The keys of a decoder: sizes, heads, context, norm, rope.
base::Result<void> put_decoder_keys(Mapping& m);
// The same without rope.
base::Result<void> put_size_keys(Mapping& m);
// Rotary positions by "rope_parameters", or by "rope_theta" and "rope_scaling" of older files; of
// the layers of full attention where kinds of layers differ. Llama 3's and LongRoPE's factors
// become tensors. Errors: kUnsupported naming a kind that is not known.
base::Result<void> put_rope(Mapping& m);
// The parameters of one kind of layers ("full_attention", "sliding_attention").
base::Result<Config> rope_parameters(const Mapping& m, std::string_view layers);
// Embeddings, final norm and output layer, with its bias: "model.embed_tokens", "model.norm",
// "lm_head".
base::Result<void> put_ends(Mapping& m, How norm = How::kSame,
                            std::string_view hf_norm = "model.norm",
                            std::string_view norm_name = "output_norm");
// The output layer `hf`, with its bias, unless config.json says that the embedding table is it.
base::Result<void> put_output(Mapping& m, const std::string& hf = "lm_head");
// Of a model of state space layers alone, as transformers has them: the sizes, and what is before
// and behind its layers.
base::Result<void> put_state_space_model(Mapping& m);
// Layers "model.layers.3." with the modules that `layer` renames, put_qkv() and put_gate_up().
base::Result<void> put_decoder_layers(Mapping& m, std::span<const Rename> layer, How q, How k);
// q, k and v of a layer, and gate and up, which MLC has fused ("qkv_proj", "c_attn",
// "gate_up_proj"); q and k rows as `q` and `k` say.
base::Result<void> put_qkv(Mapping& m, uint32_t layer, How q, How k);
base::Result<void> put_gate_up(Mapping& m, uint32_t layer);
// q, k and v of one module `hf`, whose rows are, KV head by KV head, those of the heads that share
// it, of its keys and of its values: to one module, all q, all k, all v, or to three. q and k rows
// of three as `how` says.
using Pieces = std::vector<std::string>;
base::Result<void> put_grouped_qkv(Mapping& m, const std::string& hf, const Pieces& to,
                                   uint64_t n_groups, How how = How::kSame);
// The number of experts, by either of the names that Qwen's files have for it.
base::Result<uint64_t> put_expert_count(Mapping& m);
// Experts of a layer, one tensor each or stacked, as "ffn_gate_exps", "ffn_up_exps",
// "ffn_down_exps". `prefix` is "model.layers.3.mlp.experts".
base::Result<void> put_experts(Mapping& m, uint32_t layer, const std::string& prefix,
                               uint64_t n_experts);
// The feed-forward block of Granite with experts: "PREFIX.shared_mlp" and
// "PREFIX.block_sparse_moe".
base::Result<void> put_granite_ffn(Mapping& m, uint32_t layer, const std::string& prefix,
                                   bool has_experts);
// Half of a head turns where config.json does not say how much of it.
base::Result<void> put_half_rotary(Mapping& m);
// A matrix [.., 2 * n, columns] of gate rows, then up rows, as two tensors.
base::Result<void> put_halves(Mapping& m, const std::string& hf, std::string gate, std::string up);
// The products that sentence-transformers has behind the pooling, called as load_hf_folder() does.
base::Result<void> put_products_behind_pooling(Mapping& m);
// A window over all layers makes no difference within it: the context ends there.
base::Result<void> bound_by_window(Mapping& m);
// Errors: kUnsupported when "layer_types" is there and not of the wanted kind at some layer.
base::Result<void> check_layer_types(const Mapping& m, std::string_view sliding,
                                     bool (*is_sliding)(uint32_t layer));

}  // namespace puna::formats::hf
