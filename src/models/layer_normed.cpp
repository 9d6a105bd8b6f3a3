#include "models/layer_normed.h"

#include <fmt/format.h>

namespace puna::models {

using plan::Builder;
using plan::Value;

base::Result<float> layer_norm_eps(const formats::ModelFile& file, const Config& c) {
  return positive(file, c.architecture + ".attention.layer_norm_epsilon", 1e-5);
}

base::Result<Value> add_learned_positions(Builder& b, const Config& c, Value x) {
  const uint64_t n = b.rows_of_tensor("position_embd.weight");
  if (n > 0 && n < c.context) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The table of positions has {} rows for a context of {} tokens.",
                                  n, c.context));
  }
  return b.add_positions(x, "position_embd.weight");
}

base::Result<OnHeads> clamp_heads(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const float most, factor(file, c.architecture + ".attention.clamp_kqv", 0.0));
  if (most == 0.0f) return OnHeads();
  return OnHeads([most](Builder& b, uint32_t, Value heads) {
    b.unary(heads, kernels::Unary::kClamp, {-most, most});
  });
}

base::Result<plan::Graph> finish_layer_normed(Builder& b, const Config& c, Value x,
                                              const LayerNormed& layers) {
  const auto normed = [&](Value v, const std::string& name, bool apart) {
    return b.layer_norm(v, layers.has_weights ? name : "", layers.eps, apart);
  };
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    const std::string ffn_norm = layer_name(l, "ffn_norm");
    Value h = normed(x, layer_name(l, "attn_norm"), /*apart=*/true);
    const Value heads = qkv(b, l, h);
    if (layers.on_heads) layers.on_heads(b, l, heads);
    if (layers.parallel && b.has(ffn_norm)) h = normed(x, ffn_norm, /*apart=*/true);
    x = b.add(x, b.matmul({layer_name(l, "attn_output")}, b.attention(heads, layers.attention(l))));
    if (!layers.parallel) h = normed(x, ffn_norm, /*apart=*/true);
    x = b.add(x, layers.ffn(b, l, h));
  }
  return finish_normed(b, normed(b.select_outputs(x), "output_norm.weight", /*apart=*/false));
}

}  // namespace puna::models
