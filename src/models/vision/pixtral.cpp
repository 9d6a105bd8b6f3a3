// Pixtral's encoder (Agrawal et al. 2024) and that of Mistral Small 3.1: no learned positions but a
// rope by row and column, RMS norms, a gated FFN; Mistral's puts 2 x 2 patches together. A row of
// the text model's embeddings breaks the lines.

#include "models/vision/arrange.h"
#include "models/vision/blocks.h"

namespace puna::models {

base::Result<void> read_pixtral_encoder(const formats::ModelFile& file, EncoderConfig& c) {
  PUNA_TRY(const uint64_t merge, file.get_uint("clip.vision.spatial_merge_size", 1));
  PUNA_TRY(c.rows.merge, bounded("clip.vision.spatial_merge_size", merge, 16));
  c.rows.any_size = true;
  c.rows.grid = true;
  c.rows.breaks = true;
  if (c.activation == kernels::Activation::kGeluTanh) c.activation = kernels::Activation::kGeluErf;
  return {};
}

base::Result<plan::Graph> build_pixtral_encoder(const formats::ModelFile& file,
                                                const EncoderConfig& c) {
  constexpr float kRopeBase = 10000;
  plan::Builder b(file, c.n_heads);
  const PictureInputs inputs = picture_inputs(b, c);
  plan::Value x = b.rms_norm(inputs.x, "v.pre_ln.weight", c.eps);
  EncoderBlock block;
  block.positions = inputs.positions;
  block.rope =
      grid_rope(c, kernels::RopePairs::kAdjacent, kernels::SectionOrder::kDealt, kRopeBase);
  for (uint32_t l = 0; l < c.n_layers; ++l) x = encoder_block(b, c, l, x, block);
  if (b.has("mm.patch_merger.weight")) {
    x = b.rms_norm(x, "mm.input_norm.weight", c.eps);
    x = b.matmul({"mm.patch_merger.weight"},
                 b.merge(x, c.rows.merge * c.rows.merge, /*by_column=*/true));
  } else {
    x = b.merge(x, c.rows.merge * c.rows.merge);
  }
  return b.finish_embeddings(gelu_mlp(b, "mm.1.weight", "mm.2.weight", x));
}

}  // namespace puna::models
