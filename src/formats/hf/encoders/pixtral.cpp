// Pixtral's encoder of pictures, which Mistral 3 has too.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "formats/hf/encoders/family.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr Rename kPixtralLayer[] = {
    {"attention_norm", "ln1"},
    {"ffn_norm", "ln2"},
    {"feed_forward.gate_proj", "ffn_gate"},
    {"feed_forward.up_proj", "ffn_up"},
    {"feed_forward.down_proj", "ffn_down"},
    {"attention.q_proj", "attn_q", How::kPairsQ},
    {"attention.k_proj", "attn_k", How::kPairsK},
    {"attention.v_proj", "attn_v"},
    {"attention.o_proj", "attn_out"},
};

constexpr Rename kPixtralOthers[] = {
    {"vision_tower.patch_conv", "v.patch_embd"},
    {"vision_tower.ln_pre", "v.pre_ln"},
    {"multi_modal_projector.norm", "mm.input_norm"},
    {"multi_modal_projector.patch_merger.merging_layer", "mm.patch_merger"},
    {"multi_modal_projector.linear_1", "mm.1"},
    {"multi_modal_projector.linear_2", "mm.2"},
};

Result<void> complete_pixtral(EncoderWork& w) {
  PUNA_TRY(put_square(w));
  PUNA_TRY(put_activation(w, "gelu"));
  if (w.texts.config.has("spatial_merge_size")) {
    PUNA_TRY(const uint64_t merge, w.texts.config.count("spatial_merge_size"));
    w.m.set("vision.spatial_merge_size", merge);
  }
  if (!w.texts.break_token) {
    return base::fail(
        ErrorCode::kNotFound,
        "The folder's tokenizer.json has no token [IMG_BREAK], which ends the lines of "
        "pictures.");
  }
  PUNA_TRY(Strided row, w.m.view(std::string(kTextTable)));
  const std::vector<uint64_t>& shape = row.tensor().shape;
  if (shape.size() != 2 || *w.texts.break_token >= shape[0]) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The token [IMG_BREAK] is {}, which the table of embeddings does "
                                  "not have.",
                                  *w.texts.break_token));
  }
  const uint64_t columns = shape[1];
  row.slice(0, *w.texts.break_token, 1);
  std::vector<Strided> parts;
  parts.push_back(std::move(row));
  return w.m.put("v.token_embd.img_break", std::move(parts), {columns});
}

}  // namespace

const EncoderFamily kPixtralEncoder = {
    .kind = "pixtral",
    .layer = "vision_tower.transformer.layers.{}.",
    .modules = kPixtralLayer,
    .others = kPixtralOthers,
    .eps = 1e-5,
    .mean = kClipMean,
    .std = kClipStd,
    .complete = complete_pixtral,
};

}  // namespace puna::formats::hf
