// Nemotron and Minitron (NVIDIA 2024): layer norms with biases, whose weights hold 1 + w already,
// and a feed-forward block without a gate, whose activation is ReLU squared. The first n_rot
// elements of a head turn, in pairs half of n_rot apart.

#include "models/blocks.h"

namespace puna::models {

using plan::Value;

base::Result<plan::Graph> build_nemotron(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const float eps, positive(file, "nemotron.attention.layer_norm_epsilon", 1e-5));
  plan::Builder b(file, c.n_heads);
  Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    const plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    Value h = b.layer_norm(x, layer_name(l, "attn_norm"), eps, /*apart=*/true);
    x = b.add(x, b.matmul({layer_name(l, "attn_output")}, b.attention(qkv(b, l, h), spec)));
    h = b.layer_norm(x, layer_name(l, "ffn_norm"), eps, /*apart=*/true);
    x = b.add(x, plain_ffn(b, l, h, kernels::Activation::kReluSquared));
  }
  return finish_normed(b, b.layer_norm(b.select_outputs(x), "output_norm.weight", eps));
}

}  // namespace puna::models
