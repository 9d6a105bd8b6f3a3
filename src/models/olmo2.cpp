// OLMo 2 (OLMo team 2024): no norms before a block, only after it; RMS norms over whole rows of q
// and of k; SwiGLU. OLMo 3 is the same with a sliding window on three layers of four, whose
// positions are not stretched.

#include <fmt/format.h>

#include "models/blocks.h"

namespace puna::models {
namespace {

// Norms the first columns of qkv, those of q, and the next, those of k.
void norm_rows(plan::Builder& b, const Config& c, uint32_t l, plan::Value qkv) {
  const std::string q_norm = layer_name(l, "attn_q_norm"), k_norm = layer_name(l, "attn_k_norm");
  plan::PartsSpec spec;
  spec.shape.eps = c.norm_eps;
  spec.shape.n = c.n_heads * c.head_dim;
  if (c.n_heads == c.n_kv_heads) {
    spec.shape.n_parts = 2;
    spec.shape.weights_by_part = true;
    spec.gamma = {q_norm, k_norm};
    b.norm_parts(qkv, spec);
    return;
  }
  spec.gamma = {q_norm};
  b.norm_parts(qkv, spec);
  spec.shape.x_column = spec.shape.n;
  spec.shape.n = c.n_kv_heads * c.head_dim;
  spec.gamma = {k_norm};
  b.norm_parts(qkv, spec);
}

}  // namespace

base::Result<plan::Graph> build_olmo2(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const uint64_t window, file.get_uint("olmo2.attention.sliding_window", 0));
  PUNA_TRY(const uint64_t pattern, file.get_uint("olmo2.attention.sliding_window_pattern", 4));
  if (window > UINT32_MAX || pattern == 0) {
    return base::fail(
        base::ErrorCode::kCorrupt,
        fmt::format("The sliding window ({} tokens, every {} layers) is out of range.", window,
                    pattern));
  }
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    if (window > 0 && (l + 1) % pattern != 0) {
      spec.window = static_cast<uint32_t>(window);
      spec.rope = {kernels::RopePairs::kNeox, c.n_rot, c.rope_base};
    }
    const plan::Value heads = qkv(b, l, x);
    norm_rows(b, c, l, heads);
    plan::Value h = b.matmul({layer_name(l, "attn_output")}, b.attention(heads, spec));
    x = b.add(x, b.rms_norm(h, layer_name(l, "post_attention_norm"), c.norm_eps));
    h = gated_ffn(b, l, x, kernels::Activation::kSilu);
    x = b.add(x, b.rms_norm(h, layer_name(l, "post_ffw_norm"), c.norm_eps));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
