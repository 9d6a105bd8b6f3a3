// Gemma 3's encoder (SigLIP, Zhai et al. 2023; Gemma 3 technical report, 2025): learned positions,
// layer norms, and 4 x 4 patches averaged to one row, which goes through an RMS norm and a matrix.

#include "models/models.h"
#include "models/vision/arrange.h"
#include "models/vision/blocks.h"

namespace puna::models {

base::Result<void> read_gemma3_encoder(const formats::ModelFile& file, EncoderConfig& c) {
  constexpr uint64_t kUsualFactor = 4;  // written only where it is another
  PUNA_TRY(const uint64_t factor,
           file.get_uint("clip.vision.projector.scale_factor", kUsualFactor));
  PUNA_TRY(c.rows.merge, bounded("clip.vision.projector.scale_factor", factor, 64));
  c.rows.added = AddedRows::kTable;
  c.projector.both_ways = true;
  return {};
}

// The projection stands transposed in the file.
base::Result<void> arrange_gemma3_encoder(formats::ModelFile& file, const EncoderConfig& c) {
  PUNA_TRY(arrange_patches(file, c));
  return view_tensor(file, "mm.input_projection.weight", {c.projector.width, c.hidden},
                     Moves::kElements, [](formats::Strided& view) { view.swap(0, 1); });
}

base::Result<plan::Graph> build_gemma3_encoder(const formats::ModelFile& file,
                                               const EncoderConfig& c) {
  plan::Builder b(file, c.n_heads);
  plan::Value x = picture_inputs(b, c).x;
  for (uint32_t l = 0; l < c.n_layers; ++l) x = encoder_block(b, c, l, x, {});
  x = b.pool(encoder_norm(b, x, "v.post_ln.weight", c.eps), c.rows.merge * c.rows.merge);
  x = b.rms_norm(x, "mm.soft_emb_norm.weight", c.eps);
  return b.finish_embeddings(b.matmul({"mm.input_projection.weight"}, x));
}

}  // namespace puna::models
