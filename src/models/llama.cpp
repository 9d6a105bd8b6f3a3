// Llama (Touvron et al. 2023; Llama 3.2, SmolLM2): pre-norm, rotary attention with grouped KV
// heads, SwiGLU. The converter stores q and k rows so that rotary pairs are adjacent; Llama 3's
// frequency factors are a tensor, rope_freqs.

#include <fmt/format.h>

#include <cmath>

#include "models/models.h"
#include "plan/builder.h"

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
    const auto name = [l](const char* part) { return fmt::format("blk.{}.{}.weight", l, part); };

    plan::AttentionSpec spec;
    spec.layer = l;
    spec.n_kv_heads = c.n_kv_heads;
    spec.head_dim = c.head_dim;
    spec.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
    spec.rope = {kernels::RopePairs::kAdjacent, c.n_rot, c.rope_base, c.rope_freq_scale};
    if (b.has("rope_freqs.weight")) spec.freq_factors = "rope_freqs.weight";

    plan::Value h = b.rms_norm(x, name("attn_norm"), c.norm_eps);
    plan::Value qkv = b.matmul({name("attn_q"), name("attn_k"), name("attn_v")}, h);
    x = b.add(x, b.matmul({name("attn_output")}, b.attention(qkv, spec)));

    h = b.rms_norm(x, name("ffn_norm"), c.norm_eps);
    plan::Value f = b.gated(name("ffn_gate"), name("ffn_up"), h, kernels::Activation::kSilu);
    x = b.add(x, b.matmul({name("ffn_down")}, f));
  }
  x = b.rms_norm(b.select_outputs(x), "output_norm.weight", c.norm_eps);
  return b.finish(b.matmul({b.has("output.weight") ? "output.weight" : "token_embd.weight"}, x));
}

}  // namespace puna::models
