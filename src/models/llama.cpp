// Llama (Touvron et al. 2023; Llama 3.2, SmolLM2): pre-norm, rotary attention with grouped KV
// heads, SwiGLU. The converter stores q and k rows so that rotary pairs are adjacent; Llama 3's
// frequency factors are a tensor, rope_freqs.

#include <fmt/format.h>

#include "models/blocks.h"

namespace puna::models {

base::Result<plan::Graph> build_llama(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const uint64_t n_experts, file.get_uint("llama.expert_count", 0));
  if (n_experts > 0) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("Llama models with experts ({}) are not supported yet.", n_experts));
  }
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kAdjacent);
    if (b.has("rope_freqs.weight")) spec.freq_factors = "rope_freqs.weight";
    x = pre_norm_layer(b, c, x, spec);
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
