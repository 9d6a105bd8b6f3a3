// The encoder of Qwen3-VL (technical report, 2025): learned positions between whose rows pictures
// of other sizes lie, beside a rope by row and column, and results of some blocks that are
// projected too, for the first layers of the text model (deepstack).

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/vision/arrange.h"
#include "models/vision/blocks.h"

namespace puna::models {

base::Result<void> read_qwen3_vl_encoder(const formats::ModelFile& file, EncoderConfig& c) {
  PUNA_TRY(const uint64_t merge, file.get_uint("clip.vision.spatial_merge_size", 2));
  PUNA_TRY(c.rows.merge, bounded("clip.vision.spatial_merge_size", merge, 16));
  c.rows.any_size = true;
  c.rows.grid = true;
  c.rows.added = AddedRows::kInterpolated;
  c.projector.grid_positions = true;
  constexpr const char* kKey = "clip.vision.is_deepstack_layers";
  if (const formats::Value* value = file.find(kKey)) {
    PUNA_TRY(const auto flags, formats::as_bools(kKey, *value));
    if (flags.size() > c.n_layers) {
      return base::fail(base::ErrorCode::kCorrupt,
                        fmt::format("The key \"{}\" lists {} layers, but the encoder has {}.", kKey,
                                    flags.size(), c.n_layers));
    }
    for (uint32_t l = 0; l < flags.size(); ++l) {
      if (flags[l]) c.deepstack.push_back(l);
    }
  }
  c.projector.n_deepstack = static_cast<uint32_t>(c.deepstack.size());
  return {};
}

base::Result<plan::Graph> build_qwen3_vl_encoder(const formats::ModelFile& file,
                                                 const EncoderConfig& c) {
  constexpr float kRopeBase = 10000;
  plan::Builder b(file, c.n_heads);
  const PictureInputs inputs = picture_inputs(b, c);
  plan::Value x = inputs.x;
  EncoderBlock block;
  block.positions = inputs.positions;
  block.rope = grid_rope(c, kernels::RopePairs::kNeox, kernels::SectionOrder::kRestart, kRopeBase);
  std::vector<std::pair<uint32_t, plan::Value>> taken;  // what deepstack takes of which block
  for (uint32_t l = 0; l < c.n_layers; ++l) {
    x = encoder_block(b, c, l, x, block);
    if (std::ranges::find(c.deepstack, l) != c.deepstack.end()) taken.emplace_back(l, b.copy(x));
  }
  const uint32_t n = c.rows.merge * c.rows.merge;
  x = b.merge(encoder_norm(b, x, "v.post_ln.weight", c.eps), n);
  const auto gelu = [&](const std::string& weight, plan::Value v) {
    return b.activated(weight, v, kernels::Activation::kGeluErf);
  };
  std::vector<plan::Builder::Product> rows = {{"mm.2.weight", gelu("mm.0.weight", x)}};
  for (const auto& [l, value] : taken) {
    const std::string name = fmt::format("v.deepstack.{}", l);
    const plan::Value merged = b.layer_norm(b.merge(value, n), name + ".norm.weight", c.eps);
    rows.push_back({name + ".fc2.weight", gelu(name + ".fc1.weight", merged)});
  }
  return b.finish_embeddings(b.beside(rows));
}

}  // namespace puna::models
