// The encoders of Qwen2-VL (Wang et al. 2024), with layer norms and quick GELU, and of Qwen2.5-VL
// and Qwen2.5-Omni (Bai et al. 2025; Xu et al. 2025): windows of 112 pixels, but for each n-th
// block, a rope by row and column, RMS norms, SwiGLU, and 2 x 2 patches merged by an MLP.

#include <fmt/format.h>

#include "models/vision/arrange.h"
#include "models/vision/blocks.h"

namespace puna::models {

base::Result<void> read_qwen2_vl_encoder(const formats::ModelFile&, EncoderConfig& c) {
  constexpr uint32_t kMerge = 2;  // the file has no key for it
  c.rows.any_size = true;
  c.rows.merge = kMerge;
  c.rows.grid = true;
  c.projector.grid_positions = true;
  c.full_every = 1;
  return {};
}

base::Result<void> read_qwen2_5_vl_encoder(const formats::ModelFile& file, EncoderConfig& c) {
  constexpr uint32_t kWindowPixels = 112;  // the file has no key for them
  PUNA_TRY(read_qwen2_vl_encoder(file, c));
  PUNA_TRY(const uint64_t every, file.get_uint("clip.vision.n_wa_pattern"));
  PUNA_TRY(c.full_every, bounded("clip.vision.n_wa_pattern", every, 4096));
  c.rows.window = kWindowPixels / c.patch_size / c.rows.merge;
  if (c.rows.window == 0) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        fmt::format("Patches of {} pixels do not fit windows of {}.", c.patch_size, kWindowPixels));
  }
  return {};
}

base::Result<plan::Graph> build_qwen2_5_vl_encoder(const formats::ModelFile& file,
                                                   const EncoderConfig& c) {
  constexpr float kRopeBase = 10000;
  plan::Builder b(file, c.n_heads);
  const PictureInputs inputs = picture_inputs(b, c);
  plan::Value x = inputs.x;
  EncoderBlock block;
  block.positions = inputs.positions;
  block.rope = grid_rope(c, kernels::RopePairs::kNeox, kernels::SectionOrder::kRestart, kRopeBase);
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    block.spans = (l + 1) % c.full_every == 0 ? std::nullopt : inputs.spans;
    x = encoder_block(b, c, l, x, block);
  }
  x = b.merge(encoder_norm(b, x, "v.post_ln.weight", c.eps), c.rows.merge * c.rows.merge);
  return b.finish_embeddings(gelu_mlp(b, "mm.0.weight", "mm.2.weight", x));
}

}  // namespace puna::models
