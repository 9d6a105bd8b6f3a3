// BERT (Devlin et al. 2019) and Nomic BERT (Nussbaum et al. 2024), which give embeddings: every
// token sees the whole text, layer norms come after each block. BERT adds learned positions and
// uses GELU; Nomic BERT turns q and k by position and uses SwiGLU. "nomic-bert-moe" (Nussbaum and
// Duderstadt 2025) has GELU without a gate, and on every other layer experts without one, whose
// weights are those of a softmax over all of them. "jina-bert-v2" (Günther et al. 2023) has scores
// that fall with the distance, either way, in place of positions (ALiBi), and GeGLU. "jina-bert-v3"
// (Sturua et al. 2024) turns q and k by position and has no gate; its adapters for tasks are not
// applied. The two token types of sentence pairs are not told apart: all tokens are of the first.

#include <fmt/format.h>

#include "models/experts.h"

namespace puna::models {
namespace {

constexpr float kJinaAlibi = 8;  // the file has no key for it

plan::Value ffn(plan::Builder& b, const Config& c, uint32_t l, plan::Value x) {
  const bool jina = c.architecture == "jina-bert-v2";
  const bool halves = jina && b.rows_of_tensor(layer_name(l, "ffn_up")) == 2 * uint64_t{c.ffn};
  const auto gate = jina ? kernels::Activation::kGeluErf : kernels::Activation::kSilu;
  if (halves || b.has(layer_name(l, "ffn_gate"))) return gated_ffn(b, l, x, gate);
  return plain_ffn(b, l, x, kernels::Activation::kGeluErf);
}

// Nomic's experts share one bias, behind their sum. It has no name in GGUF but this one.
plan::Value nomic_experts(plan::Builder& b, uint32_t l, plan::Value x,
                          const kernels::RouteParams& route) {
  const plan::Value y = plain_experts(b, l, x, route);
  const std::string bias = fmt::format("blk.{}.ffn_exps.bias", l);
  return b.has(bias) ? b.by_vector(y, kernels::Binary::kAdd, bias) : y;
}

}  // namespace

base::Result<plan::Graph> build_bert(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const float eps,
           positive(file, c.architecture + ".attention.layer_norm_epsilon", 1e-12));
  const std::string every_key = c.architecture + ".moe_every_n_layers";
  PUNA_TRY(const uint64_t every, file.get_uint(every_key, 0));
  const bool may_have_experts = c.architecture == "nomic-bert-moe";
  if (every == 1 || (every > 0 && !may_have_experts)) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The key \"{}\" is {}, which is not supported.", every_key, every));
  }
  kernels::RouteParams route;
  if (every > 0) {
    PUNA_TRY(route, read_route(file, c, {}));
  }
  const bool learned_positions = c.architecture == "bert";
  const formats::Tensor* positions = file.find_tensor("position_embd.weight");
  if (learned_positions && positions && positions->rows() < c.context) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The table of positions has {} rows for a context of {} tokens.",
                                  positions->rows(), c.context));
  }
  const bool jina = c.architecture == "jina-bert-v2";
  for (const char* norm : {"blk.0.attn_q_norm.weight", "blk.0.attn_norm_2.weight"}) {
    if (!jina || !file.find_tensor(norm)) continue;
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The norm \"{}\" of {} models is not supported yet.", norm, c.architecture));
  }
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  if (b.has("token_types.weight")) x = b.add_first_row(x, "token_types.weight");
  if (learned_positions) x = b.add_positions(x, "position_embd.weight");
  x = b.layer_norm(x, "token_embd_norm.weight", eps);
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    if (learned_positions || jina) spec.rope = {};
    if (jina) spec.max_alibi_bias = kJinaAlibi;
    x = b.add(x, b.matmul({layer_name(l, "attn_output")}, b.attention(qkv(b, l, x), spec)));
    x = b.layer_norm(x, layer_name(l, "attn_output_norm"), eps);
    const bool has_experts = every > 0 && l % every == 1;
    x = b.add(x, has_experts ? nomic_experts(b, l, x, route) : ffn(b, c, l, x));
    x = b.layer_norm(x, layer_name(l, "layer_output_norm"), eps);
  }
  return b.finish_embeddings(b.select_outputs(x));
}

}  // namespace puna::models
