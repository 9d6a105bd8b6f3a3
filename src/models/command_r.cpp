// Command R (Cohere 2024): attention and feed-forward block side by side, both reading one layer
// norm without a bias and adding to one residual; a factor on the logits; Command R+ has a layer
// norm of every q and k head, each with weights of its own. Command R7B (2024; "cohere2") has a
// sliding window on three layers of four, and the fourth, which sees everything, has no positions.
// Rotary pairs are adjacent.

#include "models/blocks.h"
#include "models/windows.h"

namespace puna::models {

using plan::Builder;
using plan::Value;

namespace {

void norm_heads(Builder& b, const Config& c, uint32_t layer, float eps, Value heads) {
  if (!b.has(layer_name(layer, "attn_q_norm"))) return;
  plan::PartsSpec spec;
  spec.shape.kind = kernels::NormKind::kLayer;
  spec.shape.eps = eps;
  spec.shape.n = c.head_dim;
  spec.shape.n_parts = c.n_heads + c.kv_heads[layer];
  spec.shape.weights_by_part = true;
  spec.gamma = {layer_name(layer, "attn_q_norm"), layer_name(layer, "attn_k_norm")};
  b.norm_parts(heads, spec);
}

// windows: by layer; empty where all layers see everything and turn.
base::Result<plan::Graph> build(const formats::ModelFile& file, const Config& c,
                                const std::vector<uint32_t>& windows) {
  const std::string p = c.architecture + ".";
  PUNA_TRY(const float eps, positive(file, p + "attention.layer_norm_epsilon", 1e-5));
  PUNA_TRY(const float logit_factor, factor(file, p + "logit_scale", 1.0));
  Builder b(file, c.n_heads);
  Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kAdjacent);
    if (!windows.empty()) {
      spec.window = windows[l];
      if (windows[l] == 0) spec.rope.n_rot = 0;
    }
    const Value h = b.layer_norm(x, layer_name(l, "attn_norm"), eps, /*apart=*/true);
    const Value heads = qkv(b, l, h);
    norm_heads(b, c, l, eps, heads);
    x = b.add(x, b.matmul({layer_name(l, "attn_output")}, b.attention(heads, spec)));
    x = b.add(x, gated_ffn(b, l, h, kernels::Activation::kSilu));
  }
  return finish_normed(b, b.layer_norm(b.select_outputs(x), "output_norm.weight", eps),
                       logit_factor);
}

}  // namespace

base::Result<plan::Graph> build_command_r(const formats::ModelFile& file, const Config& c) {
  return build(file, c, {});
}

base::Result<plan::Graph> build_cohere2(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(file.get_uint("cohere2.attention.sliding_window"));  // nothing can stand for it
  PUNA_TRY(const auto windows, sliding_windows(file, c, {.period = 4}));
  return build(file, c, windows);
}

}  // namespace puna::models
