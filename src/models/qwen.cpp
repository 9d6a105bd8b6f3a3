// Qwen2 (Yang et al. 2024; Qwen2.5): the Llama layer with biases on q, k and v, which the builder
// takes from the file. Qwen3 (Yang et al. 2025): no biases, an RMS norm of every q and k head.
// Rotary pairs are half a head apart.

#include "models/blocks.h"

namespace puna::models {
namespace {

base::Result<plan::Graph> build(const formats::ModelFile& file, const Config& c, bool head_norms) {
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    if (head_norms) {
      spec.q_norm = layer_name(l, "attn_q_norm");
      spec.k_norm = layer_name(l, "attn_k_norm");
    }
    x = pre_norm_layer(b, c, x, spec);
  }
  return finish_logits(b, c, x);
}

}  // namespace

base::Result<plan::Graph> build_qwen2(const formats::ModelFile& file, const Config& config) {
  return build(file, config, /*head_norms=*/false);
}

base::Result<plan::Graph> build_qwen3(const formats::ModelFile& file, const Config& config) {
  return build(file, config, /*head_norms=*/true);
}

}  // namespace puna::models
