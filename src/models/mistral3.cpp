// Ministral 3 and Mistral 3 (Mistral AI 2025): the Llama layer, positions stretched by YaRN, and
// queries that grow with the position beyond the original context.

#include <fmt/format.h>

#include "models/blocks.h"

namespace puna::models {

base::Result<plan::Graph> build_mistral3(const formats::ModelFile& file, const Config& c) {
  PUNA_TRY(const double temperature, file.get_float("mistral3.attention.temperature_scale", 0.0));
  if (!(temperature >= 0)) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The key \"mistral3.attention.temperature_scale\" is {}, but a "
                                  "number from 0 is expected.",
                                  temperature));
  }
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kAdjacent);
    if (temperature > 0)
      spec.rope.temperature = {static_cast<float>(temperature), c.original_context};
    x = pre_norm_layer(b, c, x, spec);
  }
  return finish_logits(b, c, x);
}

}  // namespace puna::models
