// Gemma 3 text (Gemma 3 Technical Report, 2025): norms before and after each block, per-head q/k
// norms, five sliding-window layers with a local rope base to one global layer, GeGLU, embeddings
// scaled by sqrt(hidden). Norm weights hold 1 + w already; rotary pairs are half a head apart.

#include <fmt/format.h>

#include <cmath>

#include "models/models.h"
#include "plan/builder.h"

namespace puna::models {

base::Result<plan::Graph> build_gemma3(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const uint64_t window, file.get_uint("gemma3.attention.sliding_window", 0));
  PUNA_TRY(const uint64_t pattern, file.get_uint("gemma3.attention.sliding_window_pattern", 6));
  PUNA_TRY(const double local_base, file.get_float("gemma3.rope.freq_base_swa", 10000.0));
  PUNA_TRY(const double final_softcap, file.get_float("gemma3.final_logit_softcapping", 0.0));
  if (window > UINT32_MAX || pattern == 0 || !(local_base > 0) || !(final_softcap >= 0)) {
    return base::fail(
        base::ErrorCode::kCorrupt,
        fmt::format(
            "The sliding window ({} tokens, every {} layers, rope base {}) or the soft cap ({}) is "
            "out of range.",
            window, pattern, local_base, final_softcap));
  }
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight", std::sqrt(static_cast<float>(c.hidden)));
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    const auto name = [l](const char* part) { return fmt::format("blk.{}.{}.weight", l, part); };
    const bool local = window > 0 && (l + 1) % pattern != 0;

    plan::AttentionSpec spec;
    spec.layer = l;
    spec.n_kv_heads = c.n_kv_heads;
    spec.head_dim = c.head_dim;
    // The 27B model scales by its width per head instead of its head size.
    const bool by_width = c.n_layers == 62;
    spec.scale = 1.0f / std::sqrt(static_cast<float>(by_width ? c.hidden / c.n_heads : c.head_dim));
    spec.window = local ? static_cast<uint32_t>(window) : 0;
    spec.rope = {kernels::RopePairs::kNeox, c.n_rot,
                 local ? static_cast<float>(local_base) : c.rope_base,
                 local ? 1.0f : c.rope_freq_scale};
    spec.q_norm = name("attn_q_norm");
    spec.k_norm = name("attn_k_norm");
    spec.norm_eps = c.norm_eps;

    plan::Value h = b.rms_norm(x, name("attn_norm"), c.norm_eps);
    plan::Value qkv = b.matmul({name("attn_q"), name("attn_k"), name("attn_v")}, h);
    plan::Value o = b.matmul({name("attn_output")}, b.attention(qkv, spec));
    x = b.add(x, b.rms_norm(o, name("post_attention_norm"), c.norm_eps));

    h = b.rms_norm(x, name("ffn_norm"), c.norm_eps);
    plan::Value f = b.gated(name("ffn_gate"), name("ffn_up"), h, kernels::Activation::kGeluTanh);
    x = b.add(x, b.rms_norm(b.matmul({name("ffn_down")}, f), name("post_ffw_norm"), c.norm_eps));
  }
  x = b.rms_norm(b.select_outputs(x), "output_norm.weight", c.norm_eps);
  plan::Value logits =
      b.matmul({b.has("output.weight") ? "output.weight" : "token_embd.weight"}, x);
  return b.finish(b.softcap(logits, static_cast<float>(final_softcap)));
}

}  // namespace puna::models
