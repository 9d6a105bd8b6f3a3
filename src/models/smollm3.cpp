// SmolLM3 (Hugging Face 2025): the Llama layer; every fourth layer has no position encoding (NoPE,
// Yang et al. 2025, "Rope to Nope and Back Again").

#include "models/blocks.h"

namespace puna::models {

base::Result<plan::Graph> build_smollm3(const formats::ModelFile& file, const Config& c) {
  constexpr uint32_t kNoPositionEvery = 4;  // the file has no key for it
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kAdjacent);
    if ((l + 1) % kNoPositionEvery == 0) spec.rope.n_rot = 0;
    x = pre_norm_layer(b, c, x, spec);
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
