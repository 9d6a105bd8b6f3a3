// Gemma 4's encoders of pictures and of sounds.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "formats/hf/encoders/family.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

// Linear layers whose values may be clipped have their matrix one module further in.
constexpr Rename kGemma4Layer[] = {
    {"input_layernorm", "ln1"},
    {"post_attention_layernorm", "attn_post_norm"},
    {"pre_feedforward_layernorm", "ln2"},
    {"post_feedforward_layernorm", "ffn_post_norm"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"self_attn.q_proj.linear", "attn_q"},
    {"self_attn.k_proj.linear", "attn_k"},
    {"self_attn.v_proj.linear", "attn_v"},
    {"self_attn.o_proj.linear", "attn_out"},
    {"mlp.gate_proj.linear", "ffn_gate"},
    {"mlp.up_proj.linear", "ffn_up"},
    {"mlp.down_proj.linear", "ffn_down"},
};

constexpr Rename kGemma4Others[] = {
    {"embed_vision.embedding_projection", "mm.input_projection"},
};

// The norm first, by which layers and their width are counted.
constexpr Rename kGemma4SoundLayer[] = {
    {"norm_out", "ln2"},
    {"norm_pre_attn", "attn_pre_norm"},
    {"norm_post_attn", "attn_post_norm"},
    {"self_attn.q_proj.linear", "attn_q"},
    {"self_attn.k_proj.linear", "attn_k"},
    {"self_attn.v_proj.linear", "attn_v"},
    {"self_attn.post.linear", "attn_out"},
    {"self_attn.relative_k_proj", "attn_k_rel"},
    {"feed_forward1.pre_layer_norm", "ffn_norm"},
    {"feed_forward1.post_layer_norm", "ffn_post_norm"},
    {"feed_forward1.ffw_layer_1.linear", "ffn_up"},
    {"feed_forward1.ffw_layer_2.linear", "ffn_down"},
    {"feed_forward2.pre_layer_norm", "ffn_norm_1"},
    {"feed_forward2.post_layer_norm", "ffn_post_norm_1"},
    {"feed_forward2.ffw_layer_1.linear", "ffn_up_1"},
    {"feed_forward2.ffw_layer_2.linear", "ffn_down_1"},
    {"lconv1d.pre_layer_norm", "conv_norm"},
    {"lconv1d.conv_norm", "norm_conv"},
    {"lconv1d.linear_start.linear", "conv_pw1"},
    {"lconv1d.linear_end.linear", "conv_pw2"},
    {"lconv1d.depthwise_conv1d", "conv_dw", How::kSqueeze},
};

constexpr Rename kGemma4SoundOthers[] = {
    {"audio_tower.subsample_conv_projection.layer0.conv", "a.conv1d.0"},
    {"audio_tower.subsample_conv_projection.layer0.norm", "a.conv1d.0.norm"},
    {"audio_tower.subsample_conv_projection.layer1.conv", "a.conv1d.1"},
    {"audio_tower.subsample_conv_projection.layer1.norm", "a.conv1d.1.norm"},
    {"audio_tower.subsample_conv_projection.input_proj_linear", "a.input_projection"},
    {"audio_tower.output_proj", "a.pre_encode.out"},
    {"embed_audio.embedding_projection", "mm.a.input_projection"},
};

// The bounds of linear layers whose values may be clipped: they stand beside the module that has
// the matrix. transformers passes over them where config.json does not say that it clips.
Result<void> put_bounds(EncoderWork& w, bool clips_usually) {
  constexpr std::string_view kClipped = ".linear";
  PUNA_TRY(const bool clips, w.part.flag("use_clipped_linears", clips_usually));
  for (uint64_t l = 0; l < w.n_layers; ++l) {
    const std::string from = fmt::format(fmt::runtime(w.family.layer), l);
    for (const Rename& each : w.family.modules) {
      if (!each.hf.ends_with(kClipped)) continue;
      const std::string_view module = each.hf.substr(0, each.hf.size() - kClipped.size());
      for (const char* bound : {"input_min", "input_max", "output_min", "output_max"}) {
        const std::string name = fmt::format("{}{}.{}", from, module, bound);
        if (!clips) {
          w.m.ignore(name);
          continue;
        }
        PUNA_TRY(w.m.rename(name, fmt::format("{}.blk.{}.{}.{}", w.family.sounds ? "a" : "v", l,
                                              each.gguf, bound)));
      }
    }
  }
  return {};
}

// A matrix of patches [rows, height, width, colour] as the kernel of a convolution.
Result<void> complete_gemma4(EncoderWork& w) {
  constexpr uint64_t kUsualFactor = 3, kImageSize = 224;  // the size has no meaning: any is taken
  w.m.set("vision.image_size", kImageSize);
  PUNA_TRY(const uint64_t patch, w.part.count("patch_size"));
  w.m.set("vision.patch_size", patch);
  PUNA_TRY(w.part.must_be("hidden_activation", "gelu_pytorch_tanh"));
  PUNA_TRY(put_bounds(w, /*clips_usually=*/false));
  PUNA_TRY(const uint64_t factor, w.part.count("pooling_kernel_size", kUsualFactor));
  if (factor != kUsualFactor) w.m.set("vision.projector.scale_factor", factor);
  PUNA_TRY(
      w.m.rename("vision_tower.patch_embedder.position_embedding_table", "v.position_embd.weight"));
  PUNA_TRY(w.m.rename("vision_tower.std_bias", "v.std_bias"));
  PUNA_TRY(w.m.rename("vision_tower.std_scale", "v.std_scale"));
  PUNA_TRY(Strided patches, w.m.view("vision_tower.patch_embedder.input_proj.weight"));
  patches.split(1, {patch, patch, 3}).swap(1, 3).swap(2, 3);
  std::vector<Strided> parts;
  parts.push_back(std::move(patches));
  return w.m.put("v.patch_embd.weight", std::move(parts), {w.hidden, 3, patch, patch});
}

// The number of bins follows from what two halvings leave of it, for each channel of the second.
Result<uint64_t> sound_bins(EncoderWork& w) {
  const std::string subsample = "audio_tower.subsample_conv_projection.";
  const RawTensor* const second = w.m.find(subsample + "layer1.conv.weight");
  const RawTensor* const joined = w.m.find(subsample + "input_proj_linear.weight");
  if (!second || !joined || second->shape.empty() || joined->shape.size() != 2) {
    return base::fail(
        ErrorCode::kNotFound,
        fmt::format("The convolutions and the projection of \"{}\" are missing.", subsample));
  }
  const uint64_t channels = second->shape[0], columns = joined->shape[1];
  if (channels == 0 || columns % channels != 0) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("Rows of {} values are no whole number of {} channels.", columns, channels));
  }
  return 4 * (columns / channels);
}

// What is fixed in the files that converters write must be so here.
Result<void> complete_gemma4_sounds(EncoderWork& w) {
  static const std::pair<const char*, Json> kFixed[] = {
      {"hidden_act", "silu"},         {"attention_chunk_size", 12},  {"attention_context_left", 13},
      {"attention_context_right", 0}, {"attention_logit_cap", 50.0}, {"residual_weight", 0.5},
      {"rms_norm_eps", 1e-6}};
  for (const auto& [key, wanted] : kFixed) PUNA_TRY(w.part.must_be(key, wanted));
  PUNA_TRY(const uint64_t bins, sound_bins(w));
  w.m.set("audio.num_mel_bins", bins);
  for (uint64_t l = 0; l < w.n_layers; ++l) {
    PUNA_TRY(w.m.rename(fmt::format(fmt::runtime(w.family.layer), l) + "self_attn.per_dim_scale",
                        fmt::format("a.blk.{}.per_dim_scale.weight", l), How::kSoftplus));
  }
  return put_bounds(w, /*clips_usually=*/true);
}

}  // namespace

const EncoderFamily kGemma4Encoder = {
    .kind = "gemma4v",
    .layer = "vision_tower.encoder.layers.{}.",
    .modules = kGemma4Layer,
    .others = kGemma4Others,
    .eps = 1e-6,
    .complete = complete_gemma4,
};
const EncoderFamily kGemma4SoundEncoder = {
    .kind = "gemma4a",
    .sounds = true,
    .layer = "audio_tower.layers.{}.",
    .modules = kGemma4SoundLayer,
    .others = kGemma4SoundOthers,
    .eps = 1e-6,
    .complete = complete_gemma4_sounds,
};

}  // namespace puna::formats::hf
