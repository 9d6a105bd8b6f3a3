// The encoder of Idefics3 (Laurençon et al. 2024) and SmolVLM: SigLIP with learned positions, whose
// patches are put together by squares (pixel shuffle) for one matrix.

#include "models/vision/arrange.h"
#include "models/vision/blocks.h"

namespace puna::models {

base::Result<void> read_idefics3_encoder(const formats::ModelFile& file, EncoderConfig& c) {
  PUNA_TRY(const uint64_t factor, file.get_uint("clip.vision.projector.scale_factor"));
  PUNA_TRY(c.rows.merge, bounded("clip.vision.projector.scale_factor", factor, 64));
  c.rows.added = AddedRows::kTable;
  return {};
}

base::Result<plan::Graph> build_idefics3_encoder(const formats::ModelFile& file,
                                                 const EncoderConfig& c) {
  plan::Builder b(file, c.n_heads);
  plan::Value x = picture_inputs(b, c).x;
  for (uint32_t l = 0; l < c.n_layers; ++l) x = encoder_block(b, c, l, x, {});
  x = b.merge(encoder_norm(b, x, "v.post_ln.weight", c.eps), c.rows.merge * c.rows.merge);
  return b.finish_embeddings(b.matmul({"mm.model.fc.weight"}, x));
}

}  // namespace puna::models
