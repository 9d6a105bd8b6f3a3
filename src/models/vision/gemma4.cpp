// Gemma 4's encoder: positions of rows and columns added, a rope whose halves turn by x and y,
// heads of q, k and v normed and scores not scaled, four norms a block, 3 x 3 patches averaged.
// Values may be clipped around products, by bounds of the file.

#include <algorithm>
#include <cmath>

#include "models/vision/arrange.h"
#include "models/vision/blocks.h"

namespace puna::models {

base::Result<void> read_gemma4_encoder(const formats::ModelFile& file, EncoderConfig& c) {
  constexpr uint64_t kUsualFactor = 3;
  PUNA_TRY(const uint64_t factor,
           file.get_uint("clip.vision.projector.scale_factor", kUsualFactor));
  PUNA_TRY(c.rows.merge, bounded("clip.vision.projector.scale_factor", factor, 64));
  c.rows.any_size = true;
  c.rows.added = AddedRows::kByAxis;
  c.rows.grid = true;
  c.rows.signed_pixels = true;
  c.activation = kernels::Activation::kGeluTanh;  // no key says so
  // No key tells which text models let pictures attend both ways; those of these widths do not.
  constexpr uint32_t kOneWayWidths[] = {1536, 2560};
  c.projector.both_ways =
      std::ranges::find(kOneWayWidths, c.projector.width) == std::end(kOneWayWidths);
  return {};
}

// Elements of a head lie as [axis, half, quarter]; the rope wants [half, axis, quarter]. Scores
// stay the same when q and k are put in another order together.
base::Result<void> arrange_gemma4_encoder(formats::ModelFile& file, const EncoderConfig& c) {
  PUNA_TRY(arrange_patches(file, c));
  const uint64_t quarter = c.head_dim() / 4;
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    for (const char* part : {"attn_q", "attn_k"}) {
      PUNA_TRY(view_tensor(
          file, encoder_name(c, l, part), {c.hidden, c.hidden}, Moves::kRows,
          [&](formats::Strided& view) { view.split(0, {c.n_heads, 2, 2, quarter}).swap(1, 2); }));
      PUNA_TRY(view_tensor(
          file, encoder_name(c, l, std::string(part) + "_norm"), {c.head_dim()}, Moves::kElements,
          [&](formats::Strided& view) { view.split(0, {2, 2, quarter}).swap(0, 1); }));
    }
  }
  return {};
}

base::Result<plan::Graph> build_gemma4_encoder(const formats::ModelFile& file,
                                               const EncoderConfig& c) {
  constexpr float kRopeBase = 100;
  plan::Builder b(file, c.n_heads);
  const PictureInputs inputs = picture_inputs(b, c);
  plan::Value x = inputs.x;
  EncoderBlock block;
  block.scale = 1;
  block.positions = inputs.positions;
  block.rope = grid_rope(c, kernels::RopePairs::kNeox, kernels::SectionOrder::kRestart, kRopeBase);
  block.v_norm = true;
  for (uint32_t l = 0; l < c.n_layers; ++l) x = encoder_block(b, c, l, x, block);
  x = b.pool(x, c.rows.merge * c.rows.merge);
  x = b.scale(x, std::sqrt(static_cast<float>(c.hidden)));
  if (b.has("v.std_bias")) x = b.by_vector(x, kernels::Binary::kSubtract, "v.std_bias");
  if (b.has("v.std_scale")) x = b.by_vector(x, kernels::Binary::kMultiply, "v.std_scale");
  plan::PartsSpec norm;
  norm.shape.eps = c.eps;
  x = b.norm_parts(x, norm);
  return b.finish_embeddings(b.matmul({"mm.input_projection.weight"}, x));
}

}  // namespace puna::models
