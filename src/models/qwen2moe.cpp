// Qwen1.5 and Qwen2 mixture of experts (Yang et al. 2024): the Qwen2 attention with its biases, and
// in place of the feed-forward block experts whose weights are a softmax over all of them, beside a
// shared expert behind a gate of its own.

#include "models/experts.h"

namespace puna::models {

base::Result<plan::Graph> build_qwen2moe(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const kernels::RouteParams route, read_route(file, c, {}));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    x = pre_norm_attention(b, c, x, attention_spec(c, l, kernels::RopePairs::kNeox));
    const plan::Value h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    x = b.add(x, experts(b, l, h, route));
    x = b.add(x, gated_shared_expert(b, l, h));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
