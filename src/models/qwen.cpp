// Qwen2 (Yang et al. 2024; Qwen2.5): the Llama layer with biases on q, k and v, which the builder
// takes from the file. Qwen3 (Yang et al. 2025): no biases, an RMS norm of every q and k head.
// Rotary pairs are half a head apart. The text models of Qwen2-VL and Qwen2.5-VL (Wang et al. 2024)
// and of Qwen3-VL (2025) are these with positions of three coordinates, which differ only where
// there are pictures; Qwen3-VL adds what its encoder saw in earlier layers behind its own first
// ones.

#include <fmt/format.h>

#include "models/blocks.h"

namespace puna::models {
namespace {

struct Kind {
  bool head_norms = false;
  kernels::RopeSections sections = {};
  uint32_t n_deepstack = 0;  // layers behind which parts of media are added
};

base::Result<plan::Graph> build(const formats::ModelFile& file, const Config& c, const Kind& kind) {
  plan::Builder b(file, c.n_heads);
  plan::Value x = b.embed("token_embd.weight");
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    plan::AttentionSpec spec = attention_spec(c, l, kernels::RopePairs::kNeox);
    spec.rope.sections = kind.sections;
    if (kind.head_norms) {
      spec.q_norm = layer_name(l, "attn_q_norm");
      spec.k_norm = layer_name(l, "attn_k_norm");
    }
    x = pre_norm_layer(b, c, x, spec);
    if (l < kind.n_deepstack) x = b.add_media(x, l, l + 1);
  }
  return finish_logits(b, c, x);
}

}  // namespace

base::Result<plan::Graph> build_qwen2(const formats::ModelFile& file, const Config& config) {
  return build(file, config, {});
}

base::Result<plan::Graph> build_qwen2vl(const formats::ModelFile& file, const Config& config) {
  Kind kind;
  PUNA_TRY(const auto sections, read_rope_sections(file, config, kernels::SectionOrder::kInTurn));
  if (config.media) kind.sections = sections;
  return build(file, config, kind);
}

base::Result<plan::Graph> build_qwen3(const formats::ModelFile& file, const Config& config) {
  return build(file, config, {.head_norms = true});
}

base::Result<plan::Graph> build_qwen3vl(const formats::ModelFile& file, const Config& config) {
  Kind kind{.head_norms = true};
  PUNA_TRY(const auto sections, read_rope_sections(file, config, kernels::SectionOrder::kByThrees));
  const char* const key = "qwen3vl.n_deepstack_layers";
  PUNA_TRY(const uint64_t n_deepstack, file.get_uint(key, 0));
  if (n_deepstack > config.n_layers) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The key \"{}\" is {}, but there are {} layers.", key,
                                  n_deepstack, config.n_layers));
  }
  if (config.media) {
    kind.sections = sections;
    kind.n_deepstack = static_cast<uint32_t>(n_deepstack);
  }
  return build(file, config, kind);
}

}  // namespace puna::models
