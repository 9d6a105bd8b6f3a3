// Llama 4 (Meta 2025): on three layers of four, q and k turn and are normed without weights, and a
// token sees those of its own chunk of the text; the fourth sees everything, does not turn, and its
// queries grow with the position. On every expert-th layer one expert, whose input is multiplied by
// the sigmoid of the router's logit, beside a shared one. Rotary pairs are adjacent.

#include <fmt/format.h>

#include "models/experts.h"
#include "models/windows.h"

namespace puna::models {

using base::ErrorCode;
using base::Result;
using plan::Builder;
using plan::Value;

namespace {

constexpr uint32_t kUsualChunk = 8192;

// Llama 4 Maverick, which has as many experts, does not norm q and k; files do not say so.
constexpr uint32_t kExpertsWithoutNorms = 128;

struct Attention {
  std::vector<uint32_t> chunks;  // by layer; 0: it sees everything and does not turn
  bool turns_everywhere = false;
  bool norms = true;
  kernels::Temperature temperature;
};

Result<Attention> read_attention(const formats::ModelFile& file, const Config& c,
                                 uint32_t n_experts) {
  Attention a;
  a.norms = n_experts != kExpertsWithoutNorms;
  PUNA_TRY(a.chunks, sliding_windows(file, c, {.tokens = kUsualChunk, .period = 4}));
  // A file that says 0 has no chunks: all layers see everything, and turn.
  PUNA_TRY(const uint64_t chunk, file.get_uint("llama4.attention.sliding_window", kUsualChunk));
  a.turns_everywhere = chunk == 0;
  if (a.turns_everywhere) return a;
  PUNA_TRY(a.temperature.beta, positive(file, "llama4.attention.temperature_scale", 0.1));
  a.temperature.offset = 1;
  a.temperature.period = kUsualChunk;
  if (const char* const key = "llama4.attention.temperature_length"; file.find(key)) {
    PUNA_TRY(a.temperature.period, count(file, key, 1 << 30));
  }
  return a;
}

// An RMS norm of every q and k head, without weights; before the turn as good as after it.
void norm_heads(Builder& b, const Config& c, uint32_t layer, Value heads) {
  plan::PartsSpec spec;
  spec.shape.eps = c.norm_eps;
  spec.shape.n = c.head_dim;
  spec.shape.n_parts = c.n_heads + c.kv_heads[layer];
  b.norm_parts(heads, spec);
}

Value attention(Builder& b, const Config& c, const Attention& a, uint32_t l, Value x) {
  plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kAdjacent);
  const bool turns = a.turns_everywhere || a.chunks[l] > 0;
  spec.window = a.chunks[l];
  spec.chunks = spec.window > 0;
  if (!turns) {
    spec.rope.n_rot = 0;
    spec.rope.temperature = a.temperature;
  } else if (b.has("rope_freqs.weight")) {
    spec.freq_factors = "rope_freqs.weight";
  }
  const Value heads = qkv(b, l, b.rms_norm(x, layer_name(l, "attn_norm"), c.norm_eps));
  if (turns && a.norms) norm_heads(b, c, l, heads);
  return b.matmul({layer_name(l, "attn_output")}, b.attention(heads, spec));
}

// One expert alone gets all of the weight, so that of its result is 1.
Value expert(Builder& b, uint32_t l, Value h, const kernels::RouteParams& route) {
  const Value logits = b.matmul({layer_name(l, "ffn_gate_inp")}, h);
  const Value weighted = b.gate(b.copy(h), b.row_max(logits));
  return experts(b, l, weighted, route, kernels::Epilogue::kSwiGlu, logits);
}

}  // namespace

base::Result<plan::Graph> build_llama4(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(kernels::RouteParams route,
           read_route(file, c, {.scores = kernels::ExpertScores::kSigmoid}));
  PUNA_TRY(const uint32_t every, count(file, "llama4.interleave_moe_layer_step", 1 << 12));
  if (route.n_experts > 0 && (route.n_chosen != 1 || route.scale != 1.0f ||
                              route.scores != kernels::ExpertScores::kSigmoid)) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("Llama 4 with {} experts a token, weights times {} or another "
                                  "gating function than sigmoid is not supported (supported: one, "
                                  "times 1, sigmoid).",
                                  route.n_chosen, route.scale));
  }
  route.normalise = true;
  PUNA_TRY(const Attention a, read_attention(file, c, route.n_experts));
  Builder b(file, c.n_heads);
  Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    x = b.add(x, attention(b, c, a, l, x));
    const Value h = b.rms_norm(x, layer_name(l, "ffn_norm"), c.norm_eps);
    if (route.n_experts == 0 || (l + 1) % every != 0) {
      x = b.add(x, gated_ffn(b, l, h, kernels::Activation::kSilu));
      continue;
    }
    x = b.add(x, shared_expert(b, l, h));
    x = b.add(x, expert(b, l, h, route));
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
