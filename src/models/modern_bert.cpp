// ModernBERT (Warner et al. 2024), which gives embeddings: every token sees the whole text on one
// layer of three, the first of them, and on the others the tokens of a window around it, where
// positions turn by a base of their own. Layer norms come before each block, for the first
// attention that of the embeddings is it. GeGLU, in some descendants SwiGLU; rotary pairs are half
// a head apart.

#include <fmt/format.h>

#include "models/layer_normed.h"
#include "models/windows.h"

namespace puna::models {

namespace {

// The function of the gate, as config.json of Hugging Face calls it.
base::Result<kernels::Activation> gate_activation(const formats::ModelFile& file, const Config& c) {
  const std::string key = c.architecture + ".hidden_activation";
  PUNA_TRY(const std::string name, file.get_string(key, "gelu"));
  if (name == "gelu") return kernels::Activation::kGeluErf;
  if (name == "gelu_pytorch_tanh") return kernels::Activation::kGeluTanh;
  if (name == "silu") return kernels::Activation::kSilu;
  return base::fail(base::ErrorCode::kUnsupported,
                    fmt::format("The key \"{}\" is \"{}\"; gelu, gelu_pytorch_tanh and silu are "
                                "supported.",
                                key, name));
}

}  // namespace

base::Result<plan::Graph> build_modern_bert(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const float eps, layer_norm_eps(file, c));
  PUNA_TRY(const auto windows, windows_around(file, c, {.period = 3, .first = true}));
  PUNA_TRY(const float local_base, positive(file, c.architecture + ".rope.freq_base_swa", 10000.0));
  PUNA_TRY(const kernels::Activation activation, gate_activation(file, c));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  x = b.layer_norm(x, "token_embd_norm.weight", eps);
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.window = windows[l];
    if (spec.window > 0) spec.rope.base = local_base;
    const std::string norm = layer_name(l, "attn_norm");
    const bool normed = l == 0 && !b.has(norm);
    const plan::Value h = normed ? x : b.layer_norm(x, norm, eps, /*apart=*/true);
    x = b.add(x, b.matmul({layer_name(l, "attn_output")}, b.attention(qkv(b, l, h), spec)));
    const plan::Value f = b.layer_norm(x, layer_name(l, "ffn_norm"), eps, /*apart=*/true);
    x = b.add(x, gated_ffn(b, l, f, activation));
  }
  return b.finish_embeddings(b.layer_norm(b.select_outputs(x), "output_norm.weight", eps));
}

}  // namespace puna::models
