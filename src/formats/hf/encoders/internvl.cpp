// InternVL's encoder of pictures.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "formats/hf/encoders/family.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr Rename kInternLayer[] = {
    {"layernorm_before", "ln1"},    {"layernorm_after", "ln2"},
    {"mlp.fc1", "ffn_up"},          {"mlp.fc2", "ffn_down"},
    {"attention.q_proj", "attn_q"}, {"attention.k_proj", "attn_k"},
    {"attention.v_proj", "attn_v"}, {"attention.projection_layer", "attn_out"},
};

constexpr Rename kInternOthers[] = {
    {"vision_tower.embeddings.patch_embeddings.projection", "v.patch_embd"},
    {"multi_modal_projector.layer_norm", "mm.model.mlp.0"},
    {"multi_modal_projector.linear_1", "mm.model.mlp.1"},
    {"multi_modal_projector.linear_2", "mm.model.mlp.3"},
};

Result<void> complete_internvl(EncoderWork& w) {
  PUNA_TRY(put_square(w));
  PUNA_TRY(put_activation(w, "gelu"));
  PUNA_TRY(w.part.must_be("norm_type", "layer_norm"));
  PUNA_TRY(const double ratio, w.texts.config.real("downsample_ratio", 0.5));
  const auto factor = ratio > 0 && ratio <= 1 ? static_cast<uint64_t>(std::llround(1 / ratio)) : 0;
  if (factor == 0 || std::abs(ratio * static_cast<double>(factor) - 1) > 1e-6) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The key \"downsample_ratio\" of config.json is {}; one part of a "
                    "whole number is supported.",
                    ratio));
  }
  w.m.set("vision.projector.scale_factor", factor);
  constexpr Key kTiles[] = {{"min_patches", "vision.preproc_min_tiles"},
                            {"max_patches", "vision.preproc_max_tiles"}};
  for (const Key& key : kTiles) {
    if (!w.texts.preprocessor.has(key.hf)) continue;
    PUNA_TRY(const uint64_t n, w.texts.preprocessor.count(key.hf));
    w.m.set(key.gguf, n);
  }
  PUNA_TRY(w.m.rename("vision_tower.embeddings.cls_token", "v.class_embd"));
  PUNA_TRY(w.m.rename("vision_tower.embeddings.position_embeddings", "v.position_embd.weight"));
  for (uint64_t l = 0; l < w.n_layers; ++l) {
    for (const auto& [hf, gguf] : {std::pair{"lambda_1", "ls1"}, std::pair{"lambda_2", "ls2"}}) {
      PUNA_TRY(w.m.rename(fmt::format("vision_tower.encoder.layer.{}.{}", l, hf),
                          fmt::format("v.blk.{}.{}.weight", l, gguf)));
    }
  }
  return {};
}

}  // namespace

const EncoderFamily kInternEncoder = {
    .kind = "internvl",
    .layer = "vision_tower.encoder.layer.{}.",
    .modules = kInternLayer,
    .others = kInternOthers,
    .eps = 1e-6,
    .mean = kImageNetMean,
    .std = kImageNetStd,
    .complete = complete_internvl,
};

}  // namespace puna::formats::hf
