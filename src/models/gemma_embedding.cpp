// EmbeddingGemma (Google 2025), which gives embeddings: Gemma 3's layer where every token sees the
// whole text, on five layers of six the tokens of a window around it, where positions turn by a
// base of their own. Two products stand behind the pooling; without an activation between them they
// are the same before it. Norm weights hold 1 + w already; rotary pairs are half a head apart.

#include <fmt/format.h>

#include <cmath>

#include "models/blocks.h"
#include "models/windows.h"

namespace puna::models {

namespace {

// What the file says of a product must be what it holds: a file whose product was left out gives
// other embeddings.
base::Result<void> check_dense(const formats::ModelFile& file, const Config& c,
                               const std::string& name) {
  const formats::Tensor* tensor = file.find_tensor(name + ".weight");
  const std::pair<std::string, uint64_t> sides[] = {{"_feat_in", tensor ? tensor->columns() : 0},
                                                    {"_feat_out", tensor ? tensor->rows() : 0}};
  for (const auto& [side, found] : sides) {
    const std::string key = fmt::format("{}.{}{}", c.architecture, name, side);
    PUNA_TRY(const uint64_t told, file.get_uint(key, 0));
    if (told == 0 || told == found) continue;
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The key \"{}\" is {}, but {}.", key, told,
                                  tensor ? fmt::format("\"{}.weight\" has {}", name, found)
                                         : fmt::format("there is no \"{}.weight\"", name)));
  }
  return {};
}

}  // namespace

base::Result<plan::Graph> build_gemma_embedding(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const auto windows, windows_around(file, c, {.period = 6}));
  PUNA_TRY(const float local_base, positive(file, c.architecture + ".rope.freq_base_swa", 10000.0));
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight", std::sqrt(static_cast<float>(c.hidden)));
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.q_norm = layer_name(l, "attn_q_norm");
    spec.k_norm = layer_name(l, "attn_k_norm");
    spec.window = windows[l];
    if (spec.window > 0) {
      spec.rope.base = local_base;
      spec.rope.freq_scale = 1.0f;  // only global layers were stretched
    }
    x = sandwich_layer(b, c, x, spec, kernels::Activation::kGeluTanh);
  }
  x = b.rms_norm(b.select_outputs(x), "output_norm.weight", c.norm_eps);
  for (const std::string name : {"dense_2", "dense_3"}) {
    PUNA_TRY(check_dense(file, c, name));
    if (b.has(name + ".weight")) x = b.matmul({name + ".weight"}, x);
  }
  return b.finish_embeddings(x);
}

}  // namespace puna::models
