// LLaVA's encoder (Liu et al. 2023): CLIP (Radford et al. 2021), whose class token is dropped after
// the blocks, of which the last ones may be left out, and an MLP.

#include <fmt/format.h>

#include "models/vision/arrange.h"
#include "models/vision/blocks.h"

namespace puna::models {

base::Result<void> read_llava_encoder(const formats::ModelFile& file, EncoderConfig& c) {
  c.rows.added = AddedRows::kTable;
  c.rows.class_row = true;
  // Counts hidden states, the first of which is before the first block. Files without the key say
  // by block_count how many blocks are run.
  constexpr const char* kKey = "clip.vision.feature_layer";
  const formats::Value* value = file.find(kKey);
  if (!value) return {};
  PUNA_TRY(const auto layers, formats::as_uints(kKey, *value));
  if (layers.size() != 1) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("The key \"{}\" lists {} layers; one is supported.", kKey, layers.size()));
  }
  if (layers[0] == 0 || layers[0] > c.n_layers) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("The key \"{}\" is {}, but the encoder has {} blocks.", kKey,
                                  layers[0], c.n_layers));
  }
  c.n_layers = static_cast<uint32_t>(layers[0]);
  return {};
}

base::Result<plan::Graph> build_llava_encoder(const formats::ModelFile& file,
                                              const EncoderConfig& c) {
  plan::Builder b(file, c.n_heads);
  plan::Value x = picture_inputs(b, c).x;
  if (b.has("v.pre_ln.weight")) x = encoder_norm(b, x, "v.pre_ln.weight", c.eps);
  for (uint32_t l = 0; l < c.n_layers; ++l) x = encoder_block(b, c, l, x, {});
  return b.finish_embeddings(gelu_mlp(b, "mm.0.weight", "mm.2.weight", b.merge(x, 1)));
}

}  // namespace puna::models
