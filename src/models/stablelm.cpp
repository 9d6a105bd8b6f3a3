// StableLM 2 and 3B (Bellagente et al. 2024): the Llama layer with layer norms. StableLM 2 12B has
// a layer norm of every q and k head, each with weights of its own, and attention and feed-forward
// block read one norm side by side. The first n_rot elements of a head turn, in pairs half of n_rot
// apart.

#include "models/layer_normed.h"

namespace puna::models {

base::Result<plan::Graph> build_stablelm(const formats::ModelFile& file, const Config& c) {
  LayerNormed layers;
  PUNA_TRY(layers.eps, layer_norm_eps(file, c));
  // Converters write use_parallel_residual too, but not always as the model has it; its tensors
  // say.
  layers.parallel = file.find_tensor(layer_name(0, "ffn_norm")) == nullptr;
  layers.on_heads = [&](plan::Builder& b, uint32_t l, plan::Value heads) {
    const std::string q_norm = layer_name(l, "attn_q_norm");
    if (!b.has(q_norm)) return;
    plan::PartsSpec spec;
    spec.shape.kind = kernels::NormKind::kLayer;
    spec.shape.eps = layers.eps;
    spec.shape.n = c.head_dim;
    spec.shape.n_parts = c.n_heads + c.kv_heads[l];
    spec.shape.weights_by_part = true;
    spec.gamma = {q_norm, layer_name(l, "attn_k_norm")};
    b.norm_parts(heads, spec);
  };
  layers.attention = [&](uint32_t l) { return attention_spec(c, l, kernels::RopePairs::kNeox); };
  layers.ffn = [](plan::Builder& b, uint32_t l, plan::Value h) {
    return gated_ffn(b, l, h, kernels::Activation::kSilu);
  };
  plan::Builder b(file, c.n_heads);
  return finish_layer_normed(b, c, b.embed("token_embd.weight"), layers);
}

}  // namespace puna::models
