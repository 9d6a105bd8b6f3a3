// InternVL's encoder (InternViT; Chen et al. 2024): a class token, branches scaled by a vector each
// (Touvron et al. 2021), no norm at the end, squares of patches put together for an MLP.

#include "models/vision/arrange.h"
#include "models/vision/blocks.h"

namespace puna::models {

base::Result<void> read_internvl_encoder(const formats::ModelFile& file, EncoderConfig& c) {
  PUNA_TRY(const uint64_t factor, file.get_uint("clip.vision.projector.scale_factor"));
  PUNA_TRY(c.rows.merge, bounded("clip.vision.projector.scale_factor", factor, 64));
  c.rows.added = AddedRows::kTable;
  c.rows.class_row = true;
  // The file says no more than GELU; the model was trained with this one.
  if (c.activation == kernels::Activation::kGeluTanh) c.activation = kernels::Activation::kGeluErf;
  return {};
}

base::Result<plan::Graph> build_internvl_encoder(const formats::ModelFile& file,
                                                 const EncoderConfig& c) {
  constexpr float kProjectorEps = 1e-5f;
  plan::Builder b(file, c.n_heads);
  plan::Value x = picture_inputs(b, c).x;
  for (uint32_t l = 0; l < c.n_layers; ++l) x = encoder_block(b, c, l, x, {});
  x = b.merge(x, c.rows.merge * c.rows.merge);
  x = b.layer_norm(x, "mm.model.mlp.0.weight", kProjectorEps);
  return b.finish_embeddings(gelu_mlp(b, "mm.model.mlp.1.weight", "mm.model.mlp.3.weight", x));
}

}  // namespace puna::models
