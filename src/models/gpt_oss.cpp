// gpt-oss (gpt-oss model card, OpenAI 2025): attention sinks, a sliding window on every other
// layer, YaRN whose ramp does not end at whole pairs, biases everywhere, and experts with a clamped
// SwiGLU that are chosen by logits, their softmax taken over the chosen. Rotary pairs are half a
// head apart.

#include "models/experts.h"
#include "models/windows.h"

namespace puna::models {

base::Result<plan::Graph> build_gpt_oss(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const kernels::RouteParams route,
           read_route(file, c, {.scores = kernels::ExpertScores::kSoftmaxOfChosen}));
  PUNA_TRY(const auto windows, sliding_windows(file, c, {.period = 2}));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.window = windows[l];
    spec.sinks = layer_name(l, "attn_sinks");
    spec.rope.yarn.truncate = false;
    x = pre_norm_attention(b, c, x, spec);
    const plan::Value h = b.rms_norm(x, layer_name(l, "post_attention_norm"), c.norm_eps);
    x = b.add(x, experts(b, l, h, route, kernels::Epilogue::kSwiGluClamped));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
