// Encoders of pictures of Qwen 2.5 VL and Qwen 3 VL.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "formats/hf/encoders/family.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Result;

namespace {

constexpr Rename kQwen25Layer[] = {
    {"norm1", "ln1"},          {"norm2", "ln2"},
    {"attn.proj", "attn_out"}, {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"}, {"mlp.down_proj", "ffn_down"},
};

constexpr Rename kQwen25Others[] = {
    {"visual.merger.ln_q", "v.post_ln"},
    {"visual.merger.mlp.0", "mm.0"},
    {"visual.merger.mlp.2", "mm.2"},
};

constexpr Rename kQwen3Layer[] = {
    {"norm1", "ln1"},
    {"norm2", "ln2"},
    {"attn.proj", "attn_out"},
    {"attn.qkv", "attn_qkv"},
    {"mlp.linear_fc1", "ffn_up"},
    {"mlp.linear_fc2", "ffn_down"},
};

constexpr Rename kQwen3Others[] = {
    {"visual.pos_embed", "v.position_embd"},
    {"visual.merger.norm", "v.post_ln"},
    {"visual.merger.linear_fc1", "mm.0"},
    {"visual.merger.linear_fc2", "mm.2"},
};

// The kernel over two frames as one for each: a still picture is its own second frame.
Result<void> put_frames(EncoderWork& w, uint64_t patch) {
  PUNA_TRY(w.part.must_be("temporal_patch_size", 2));
  for (uint64_t frame = 0; frame < 2; ++frame) {
    PUNA_TRY(Strided kernel, w.m.view("visual.patch_embed.proj.weight"));
    kernel.slice(2, frame, 1);
    std::vector<Strided> parts;
    parts.push_back(std::move(kernel));
    PUNA_TRY(w.m.put(frame == 0 ? "v.patch_embd.weight" : "v.patch_embd.weight.1", std::move(parts),
                     {w.hidden, 3, patch, patch}));
  }
  return {};
}

Result<void> complete_qwen25(EncoderWork& w) {
  constexpr uint64_t kImageSize = 560;  // the size has no meaning: any is taken
  w.m.set("vision.image_size", kImageSize);
  PUNA_TRY(const uint64_t patch, w.part.count("patch_size", 14));
  w.m.set("vision.patch_size", patch);
  PUNA_TRY(put_activation(w, "silu"));
  PUNA_TRY(w.part.must_be("window_size", 112));
  PUNA_TRY(w.part.must_be("spatial_merge_size", 2));
  PUNA_TRY(const std::vector<double> full, w.part.reals("fullatt_block_indexes"));
  const uint64_t every = full.empty() ? 8 : static_cast<uint64_t>(full.front()) + 1;
  for (size_t i = 0; i < full.size(); ++i) {
    if (full[i] == static_cast<double>(every * (i + 1) - 1)) continue;
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The key \"fullatt_block_indexes\" of config.json is {}, which is "
                    "not one in every {} blocks.",
                    w.part.find("fullatt_block_indexes")->dump(), every));
  }
  w.m.set("vision.n_wa_pattern", every);
  PUNA_TRY(put_frames(w, patch));
  for (uint64_t l = 0; l < w.n_layers; ++l) {
    for (const char* part : {".weight", ".bias"}) {
      for (uint64_t i = 0; i < 3; ++i) {
        constexpr const char* kNames[] = {"attn_q", "attn_k", "attn_v"};
        PUNA_TRY(Strided rows, w.m.view(fmt::format("visual.blocks.{}.attn.qkv{}", l, part)));
        std::vector<uint64_t> shape = rows.tensor().shape;
        if (!shape.empty()) shape[0] = w.hidden;
        rows.slice(0, i * w.hidden, w.hidden);
        std::vector<Strided> parts;
        parts.push_back(std::move(rows));
        PUNA_TRY(w.m.put(fmt::format("v.blk.{}.{}{}", l, kNames[i], part), std::move(parts),
                         std::move(shape)));
      }
    }
  }
  return {};
}

Result<void> complete_qwen3(EncoderWork& w) {
  PUNA_TRY(const uint64_t patch, w.part.count("patch_size", 16));
  PUNA_TRY(const uint64_t positions, w.part.count("num_position_embeddings", 2304));
  const auto across =
      static_cast<uint64_t>(std::llround(std::sqrt(static_cast<double>(positions))));
  w.m.set("vision.image_size", across * patch);
  w.m.set("vision.patch_size", patch);
  PUNA_TRY(put_activation(w, "gelu_pytorch_tanh"));
  PUNA_TRY(const uint64_t merge, w.part.count("spatial_merge_size", 2));
  w.m.set("vision.spatial_merge_size", merge);
  PUNA_TRY(put_frames(w, patch));
  PUNA_TRY(w.m.rename("visual.patch_embed.proj.bias", "v.patch_embd.bias"));
  PUNA_TRY(const std::vector<double> blocks, w.part.reals("deepstack_visual_indexes"));
  std::vector<bool> flags(static_cast<size_t>(w.n_layers), false);
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!(blocks[i] >= 0 && blocks[i] < static_cast<double>(w.n_layers))) {
      return base::fail(ErrorCode::kCorrupt,
                        fmt::format("The key \"deepstack_visual_indexes\" of config.json lists {}, "
                                    "but there are {} blocks.",
                                    blocks[i], w.n_layers));
    }
    const auto block = static_cast<size_t>(blocks[i]);
    flags[block] = true;
    for (const auto& [hf, gguf] : {std::pair{"norm", "norm"}, std::pair{"linear_fc1", "fc1"},
                                   std::pair{"linear_fc2", "fc2"}}) {
      for (const char* part : {".weight", ".bias"}) {
        PUNA_TRY(w.m.rename(fmt::format("visual.deepstack_merger_list.{}.{}{}", i, hf, part),
                            fmt::format("v.deepstack.{}.{}{}", block, gguf, part)));
      }
    }
  }
  w.m.set("vision.is_deepstack_layers", std::move(flags));
  return {};
}

}  // namespace

const EncoderFamily kQwen25Encoder = {
    .kind = "qwen2.5vl_merger",
    .layer = "visual.blocks.{}.",
    .modules = kQwen25Layer,
    .others = kQwen25Others,
    .eps = 1e-6,
    .mean = kClipMean,
    .std = kClipStd,
    .complete = complete_qwen25,
};
const EncoderFamily kQwen3Encoder = {
    .kind = "qwen3vl_merger",
    .layer = "visual.blocks.{}.",
    .modules = kQwen3Layer,
    .others = kQwen3Others,
    .eps = 1e-6,
    .mean = kHalf,
    .std = kHalf,
    .complete = complete_qwen3,
};

}  // namespace puna::formats::hf
