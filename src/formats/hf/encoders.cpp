#include "formats/hf/encoders.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "formats/hf/mapping.h"

namespace puna::formats::hf {

using base::ErrorCode;
using base::Json;
using base::Result;

namespace {

using Colour = std::array<double, 3>;
constexpr Colour kHalf = {0.5, 0.5, 0.5};
constexpr Colour kClipMean = {0.48145466, 0.4578275, 0.40821073};
constexpr Colour kClipStd = {0.26862954, 0.26130258, 0.27577711};
constexpr Colour kImageNetMean = {0.485, 0.456, 0.406}, kImageNetStd = {0.229, 0.224, 0.225};
constexpr Colour kNone = {0, 0, 0}, kOne = {1, 1, 1};

constexpr uint64_t kMostLayers = 4096;

// Names as transformers 5 writes them; files of before have some more words in front.
constexpr std::pair<std::string_view, std::string_view> kPrefixes[] = {
    {"model.", ""},
    {"vision_tower.vision_model.", "vision_tower."},
    {"vision_model.", "vision_tower."},
};
constexpr std::string_view kPictureParts[] = {"vision_tower.", "visual.", "multi_modal_projector.",
                                              "connector.", "embed_vision."};
constexpr std::string_view kSoundParts[] = {"audio_tower.", "multi_modal_projector.",
                                            "embed_audio."};
constexpr std::string_view kTextTable = "embed_tokens.weight";

struct EncoderFamily;

// What maps one folder: the mapping and the parts of config.json.
struct Work {
  Mapping& m;
  const EncoderFamily& family;
  const EncoderTexts& texts;
  Config part;  // vision_config or audio_config
  uint64_t n_layers = 0, hidden = 0;
};

struct EncoderFamily {
  std::string_view model_type;  // of config.json
  std::string_view tower;       // model_type of its vision_config; empty: whatever it is
  std::string_view kind;        // clip.projector_type
  bool sounds;
  std::string_view layer;           // the folder's prefix of a layer's modules, {} for its number
  std::span<const Rename> modules;  // of a layer
  std::span<const Rename> others;   // names in full but for ".weight" and ".bias"
  double eps;                       // where config.json does not say
  Colour mean, std;
  Result<void> (*complete)(Work& w);
};

constexpr Rename kSiglipLayer[] = {
    {"layer_norm1", "ln1"},         {"layer_norm2", "ln2"},
    {"mlp.fc1", "ffn_up"},          {"mlp.fc2", "ffn_down"},
    {"self_attn.q_proj", "attn_q"}, {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"}, {"self_attn.out_proj", "attn_out"},
};
constexpr Rename kInternLayer[] = {
    {"layernorm_before", "ln1"},    {"layernorm_after", "ln2"},
    {"mlp.fc1", "ffn_up"},          {"mlp.fc2", "ffn_down"},
    {"attention.q_proj", "attn_q"}, {"attention.k_proj", "attn_k"},
    {"attention.v_proj", "attn_v"}, {"attention.projection_layer", "attn_out"},
};
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
constexpr Rename kQwen25Layer[] = {
    {"norm1", "ln1"},          {"norm2", "ln2"},
    {"attn.proj", "attn_out"}, {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"}, {"mlp.down_proj", "ffn_down"},
};
constexpr Rename kQwen3Layer[] = {
    {"norm1", "ln1"},
    {"norm2", "ln2"},
    {"attn.proj", "attn_out"},
    {"attn.qkv", "attn_qkv"},
    {"mlp.linear_fc1", "ffn_up"},
    {"mlp.linear_fc2", "ffn_down"},
};
constexpr Rename kWhisperLayer[] = {
    {"self_attn_layer_norm", "ln1"},
    {"final_layer_norm", "ln2"},
    {"fc1", "ffn_up"},
    {"fc2", "ffn_down"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.out_proj", "attn_out"},
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

constexpr Rename kGemma3Others[] = {
    {"vision_tower.embeddings.patch_embedding", "v.patch_embd"},
    {"vision_tower.embeddings.position_embedding", "v.position_embd"},
    {"vision_tower.post_layernorm", "v.post_ln"},
    {"multi_modal_projector.mm_soft_emb_norm", "mm.soft_emb_norm", How::kPlusOne},
};
constexpr Rename kIdefics3Others[] = {
    {"vision_tower.embeddings.patch_embedding", "v.patch_embd"},
    {"vision_tower.embeddings.position_embedding", "v.position_embd"},
    {"vision_tower.post_layernorm", "v.post_ln"},
    {"connector.modality_projection.proj", "mm.model.fc"},
};
constexpr Rename kLlavaOthers[] = {
    {"vision_tower.embeddings.patch_embedding", "v.patch_embd"},
    {"vision_tower.embeddings.position_embedding", "v.position_embd"},
    {"vision_tower.pre_layrnorm", "v.pre_ln"},
    {"multi_modal_projector.linear_1", "mm.0"},
    {"multi_modal_projector.linear_2", "mm.2"},
};
constexpr Rename kInternOthers[] = {
    {"vision_tower.embeddings.patch_embeddings.projection", "v.patch_embd"},
    {"multi_modal_projector.layer_norm", "mm.model.mlp.0"},
    {"multi_modal_projector.linear_1", "mm.model.mlp.1"},
    {"multi_modal_projector.linear_2", "mm.model.mlp.3"},
};
constexpr Rename kPixtralOthers[] = {
    {"vision_tower.patch_conv", "v.patch_embd"},
    {"vision_tower.ln_pre", "v.pre_ln"},
    {"multi_modal_projector.norm", "mm.input_norm"},
    {"multi_modal_projector.patch_merger.merging_layer", "mm.patch_merger"},
    {"multi_modal_projector.linear_1", "mm.1"},
    {"multi_modal_projector.linear_2", "mm.2"},
};
constexpr Rename kGemma4Others[] = {
    {"embed_vision.embedding_projection", "mm.input_projection"},
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
constexpr Rename kQwen25Others[] = {
    {"visual.merger.ln_q", "v.post_ln"},
    {"visual.merger.mlp.0", "mm.0"},
    {"visual.merger.mlp.2", "mm.2"},
};
constexpr Rename kQwen3Others[] = {
    {"visual.pos_embed", "v.position_embd"},
    {"visual.merger.norm", "v.post_ln"},
    {"visual.merger.linear_fc1", "mm.0"},
    {"visual.merger.linear_fc2", "mm.2"},
};
constexpr Rename kWhisperOthers[] = {
    {"audio_tower.conv1", "a.conv1d.1"},
    {"audio_tower.conv2", "a.conv1d.2"},
    {"audio_tower.embed_positions", "a.position_embd"},
    {"audio_tower.layer_norm", "a.post_ln"},
    {"multi_modal_projector.linear_1", "mm.a.mlp.1"},
    {"multi_modal_projector.linear_2", "mm.a.mlp.2"},
};

// A size that may be listed for both axes.
Result<uint64_t> side(const Config& config, std::string_view key) {
  const Json* value = config.find(key);
  if (!value || !value->is_array()) return config.count(key);
  const std::span<const Json> sides = value->items();
  if (sides.size() == 2 && sides[0] == sides[1] && sides[0].is_integer() && sides[0].integer() > 0)
    return static_cast<uint64_t>(sides[0].integer());
  return base::fail(ErrorCode::kUnsupported,
                    fmt::format("The key \"{}\" of config.json is {}; squares are supported.", key,
                                value->dump()));
}

Result<void> put_side(Work& w, std::string_view key, std::string_view clip) {
  PUNA_TRY(const uint64_t n, side(w.part, key));
  w.m.set(clip, n);
  return {};
}

Result<void> put_activation(Work& w, std::string_view otherwise) {
  PUNA_TRY(const std::string act, w.part.text("hidden_act", otherwise));
  if (act == "silu" || act == "swish") {
    w.m.set("use_silu", true);
  } else if (act.starts_with("gelu")) {
    w.m.set("use_gelu", true);
  } else if (act == "quick_gelu") {
    w.m.set("use_gelu", false);
  } else {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The encoder's key \"hidden_act\" of config.json is \"{}\"; silu, "
                    "gelu and quick_gelu are supported.",
                    act));
  }
  return {};
}

Result<void> put_square(Work& w) {
  PUNA_TRY(put_side(w, "image_size", "vision.image_size"));
  return put_side(w, "patch_size", "vision.patch_size");
}

Result<void> complete_gemma3(Work& w) {
  PUNA_TRY(put_square(w));
  PUNA_TRY(put_activation(w, "gelu_pytorch_tanh"));
  PUNA_TRY(const uint64_t image, w.part.count("image_size"));
  PUNA_TRY(const uint64_t patch, w.part.count("patch_size"));
  PUNA_TRY(const uint64_t tokens, w.texts.config.count("mm_tokens_per_image", 256));
  const auto across = static_cast<uint64_t>(std::llround(std::sqrt(static_cast<double>(tokens))));
  constexpr uint64_t kUsualFactor = 4;
  if (patch == 0 || across == 0 || across * across != tokens || image / patch % across != 0) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"mm_tokens_per_image\" of config.json is {}, but "
                                  "pictures have {} patches of {} pixels along a side.",
                                  tokens, patch == 0 ? 0 : image / patch, patch));
  }
  if (const uint64_t factor = image / patch / across; factor != kUsualFactor)
    w.m.set("vision.projector.scale_factor", factor);
  w.m.ignore("vision_tower.head.");
  return w.m.rename("multi_modal_projector.mm_input_projection_weight",
                    "mm.input_projection.weight");
}

Result<void> complete_idefics3(Work& w) {
  PUNA_TRY(put_square(w));
  PUNA_TRY(put_activation(w, "gelu_pytorch_tanh"));
  PUNA_TRY(const uint64_t factor, w.texts.config.count("scale_factor", 2));
  w.m.set("vision.projector.scale_factor", factor);
  const Json* size = w.texts.preprocessor.find("size");
  const Json* longest = size && size->is_object() ? size->find("longest_edge") : nullptr;
  if (longest && longest->is_integer() && longest->integer() > 0)
    w.m.set("vision.preproc_image_size", static_cast<uint64_t>(longest->integer()));
  return {};
}

// The hidden state that the projector sees, counted from the input; behind it no block is needed.
Result<void> complete_llava(Work& w) {
  PUNA_TRY(put_square(w));
  PUNA_TRY(put_activation(w, "quick_gelu"));
  PUNA_TRY(w.texts.config.must_be("vision_feature_select_strategy", "default"));
  const Json* value = w.texts.config.find("vision_feature_layer");
  const int64_t given = !value ? -2 : value->is_integer() ? value->integer() : 0;
  const int64_t layer = given < 0 ? static_cast<int64_t>(w.n_layers) + 1 + given : given;
  if (layer < 1 || layer > static_cast<int64_t>(w.n_layers)) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The key \"vision_feature_layer\" of config.json is {}; one of the "
                    "{} blocks is supported.",
                    value ? value->dump() : "-2", w.n_layers));
  }
  for (auto l = static_cast<uint64_t>(layer); l < w.n_layers; ++l)
    w.m.ignore(fmt::format("vision_tower.encoder.layers.{}.", l));
  w.n_layers = static_cast<uint64_t>(layer);
  w.m.set("vision.feature_layer", std::vector<uint64_t>{w.n_layers});
  w.m.ignore("vision_tower.post_layernorm.");
  return w.m.rename("vision_tower.embeddings.class_embedding", "v.class_embd");
}

Result<void> complete_internvl(Work& w) {
  PUNA_TRY(put_square(w));
  PUNA_TRY(put_activation(w, "gelu"));
  PUNA_TRY(w.part.must_be("norm_type", "layer_norm"));
  PUNA_TRY(const double ratio, w.texts.config.real("downsample_ratio", 0.5));
  const auto factor = ratio > 0 && ratio <= 1 ? static_cast<uint64_t>(std::llround(1 / ratio)) : 0;
  if (factor == 0 || std::abs(ratio * static_cast<double>(factor) - 1) > 1e-6) {
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format("The key \"downsample_ratio\" of config.json is {}; one part of a "
                    "whole number is supported.",
                    ratio));
  }
  w.m.set("vision.projector.scale_factor", factor);
  constexpr Key kTiles[] = {{"min_patches", "vision.preproc_min_tiles"},
                            {"max_patches", "vision.preproc_max_tiles"}};
  for (const Key& key : kTiles) {
    if (!w.texts.preprocessor.has(key.hf)) continue;
    PUNA_TRY(const uint64_t n, w.texts.preprocessor.count(key.hf));
    w.m.set(key.gguf, n);
  }
  PUNA_TRY(w.m.rename("vision_tower.embeddings.cls_token", "v.class_embd"));
  PUNA_TRY(w.m.rename("vision_tower.embeddings.position_embeddings", "v.position_embd.weight"));
  for (uint64_t l = 0; l < w.n_layers; ++l) {
    for (const auto& [hf, gguf] : {std::pair{"lambda_1", "ls1"}, std::pair{"lambda_2", "ls2"}}) {
      PUNA_TRY(w.m.rename(fmt::format("vision_tower.encoder.layer.{}.{}", l, hf),
                          fmt::format("v.blk.{}.{}.weight", l, gguf)));
    }
  }
  return {};
}

Result<void> complete_pixtral(Work& w) {
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

// The bounds of linear layers whose values may be clipped: they stand beside the module that has
// the matrix. transformers passes over them where config.json does not say that it clips.
Result<void> put_bounds(Work& w, bool clips_usually) {
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
Result<void> complete_gemma4(Work& w) {
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
Result<uint64_t> sound_bins(Work& w) {
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
Result<void> complete_gemma4_sounds(Work& w) {
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

// The kernel over two frames as one for each: a still picture is its own second frame.
Result<void> put_frames(Work& w, uint64_t patch) {
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

Result<void> complete_qwen25(Work& w) {
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

Result<void> complete_qwen3(Work& w) {
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

Result<void> complete_voxtral(Work& w) {
  PUNA_TRY(const uint64_t bins, w.part.count("num_mel_bins", 128));
  w.m.set("audio.num_mel_bins", bins);
  PUNA_TRY(const uint64_t joined, w.part.count("intermediate_size"));
  if (w.hidden == 0 || joined % w.hidden != 0) {
    return base::fail(
        ErrorCode::kCorrupt,
        fmt::format("The projector reads rows of {}, which are no whole number of the "
                    "encoder's {}.",
                    joined, w.hidden));
  }
  w.m.set("audio.projector.stack_factor", joined / w.hidden);
  return {};
}

constexpr EncoderFamily kFamilies[] = {
    {"gemma3", "", "gemma3", false, "vision_tower.encoder.layers.{}.", kSiglipLayer, kGemma3Others,
     1e-6, kHalf, kHalf, complete_gemma3},
    {"gemma4", "", "gemma4v", false, "vision_tower.encoder.layers.{}.", kGemma4Layer, kGemma4Others,
     1e-6, kNone, kOne, complete_gemma4},
    {"gemma4", "", "gemma4a", true, "audio_tower.layers.{}.", kGemma4SoundLayer, kGemma4SoundOthers,
     1e-6, kNone, kOne, complete_gemma4_sounds},
    {"idefics3", "", "idefics3", false, "vision_tower.encoder.layers.{}.", kSiglipLayer,
     kIdefics3Others, 1e-6, kHalf, kHalf, complete_idefics3},
    {"internvl", "", "internvl", false, "vision_tower.encoder.layer.{}.", kInternLayer,
     kInternOthers, 1e-6, kImageNetMean, kImageNetStd, complete_internvl},
    {"llava", "clip_vision_model", "mlp", false, "vision_tower.encoder.layers.{}.", kSiglipLayer,
     kLlavaOthers, 1e-5, kClipMean, kClipStd, complete_llava},
    {"llava", "pixtral", "pixtral", false, "vision_tower.transformer.layers.{}.", kPixtralLayer,
     kPixtralOthers, 1e-5, kClipMean, kClipStd, complete_pixtral},
    {"mistral3", "", "pixtral", false, "vision_tower.transformer.layers.{}.", kPixtralLayer,
     kPixtralOthers, 1e-5, kClipMean, kClipStd, complete_pixtral},
    {"qwen2_5_vl", "", "qwen2.5vl_merger", false, "visual.blocks.{}.", kQwen25Layer, kQwen25Others,
     1e-6, kClipMean, kClipStd, complete_qwen25},
    {"qwen3_vl", "", "qwen3vl_merger", false, "visual.blocks.{}.", kQwen3Layer, kQwen3Others, 1e-6,
     kHalf, kHalf, complete_qwen3},
    {"smolvlm", "", "idefics3", false, "vision_tower.encoder.layers.{}.", kSiglipLayer,
     kIdefics3Others, 1e-6, kHalf, kHalf, complete_idefics3},
    {"voxtral", "", "voxtral", true, "audio_tower.layers.{}.", kWhisperLayer, kWhisperOthers, 1e-5,
     kNone, kOne, complete_voxtral},
};

const Json* part_of(const Config& config, bool sounds) {
  const Json* part = config.find(sounds ? "audio_config" : "vision_config");
  return part && part->is_object() ? part : nullptr;
}

// One for each sense that the model has.
std::vector<const EncoderFamily*> find_families(const Config& config) {
  const std::string type = config.text("model_type", "").value_or("");
  std::vector<const EncoderFamily*> out;
  for (const EncoderFamily& family : kFamilies) {
    const Json* part = part_of(config, family.sounds);
    if (family.model_type != type || !part) continue;
    const Json* tower = part->find("model_type");
    if (family.tower.empty() || (tower && *tower == Json(family.tower))) out.push_back(&family);
  }
  return out;
}

// The encoders' tensors, by the names of the table; with the text model's embeddings, of which a
// row may be wanted.
void keep_encoders(RawModel& raw, std::span<const EncoderFamily* const> families) {
  std::vector<std::string_view> parts;
  for (const EncoderFamily* family : families) {
    const std::span<const std::string_view> own =
        family->sounds ? std::span<const std::string_view>(kSoundParts) : kPictureParts;
    parts.insert(parts.end(), own.begin(), own.end());
  }
  for (RawTensor& tensor : raw.tensors) {
    for (const auto& [from, to] : kPrefixes) {
      if (tensor.name.starts_with(from))
        tensor.name = std::string(to) + tensor.name.substr(from.size());
    }
    if (tensor.name.ends_with(kTextTable)) tensor.name = kTextTable;
  }
  std::erase_if(raw.tensors, [&](const RawTensor& tensor) {
    return tensor.name != kTextTable && std::ranges::none_of(parts, [&](std::string_view part) {
             return tensor.name.starts_with(part);
           });
  });
}

// By the tensors there are, where config.json leaves the number to the library that it is for.
Result<uint64_t> count_layers(Work& w) {
  for (const char* key : {"num_hidden_layers", "depth", "encoder_layers"}) {
    if (w.part.has(key)) return w.part.count(key);
  }
  const std::string norm(w.family.modules.front().hf);
  uint64_t n = 0;
  while (n < kMostLayers &&
         w.m.find(fmt::format(fmt::runtime(w.family.layer), n) + norm + ".weight"))
    ++n;
  return n;
}

// Rows of the first layer's tensor of this name.
Result<uint64_t> rows_of(Work& w, std::string_view gguf) {
  const auto module = std::ranges::find(w.family.modules, gguf, &Rename::gguf);
  const std::string name =
      fmt::format(fmt::runtime(w.family.layer), 0) + std::string(module->hf) + ".weight";
  const RawTensor* tensor = w.m.find(name);
  if (tensor && !tensor->shape.empty()) return tensor->shape.front();
  return base::fail(ErrorCode::kNotFound,
                    fmt::format("config.json tells of an encoder, but its tensor \"{}\" is "
                                "missing.",
                                name));
}

Result<uint64_t> first_count(const Config& config, std::initializer_list<const char*> keys,
                             uint64_t otherwise) {
  for (const char* key : keys) {
    if (config.has(key)) return config.count(key);
  }
  return otherwise;
}

Result<std::vector<double>> colour(const Config& preprocessor, const char* key,
                                   const Colour& usual) {
  PUNA_TRY(std::vector<double> out, preprocessor.reals(key));
  if (out.empty()) out.assign(usual.begin(), usual.end());
  return out;
}

Result<void> put_keys(Work& w) {
  const std::string sense = w.family.sounds ? "audio" : "vision";
  const auto set = [&](std::string_view key, Value value) {
    w.m.set(fmt::format("{}.{}", sense, key), std::move(value));
  };
  // Clip's default of heads is a part of the width; others say their number.
  PUNA_TRY(const uint64_t heads,
           first_count(w.part, {"num_attention_heads", "num_heads", "encoder_attention_heads"},
                       w.family.kind == "idefics3" ? 12 : 16));
  w.m.n_heads = w.m.n_kv_heads = heads;
  PUNA_TRY(const uint64_t ffn, rows_of(w, "ffn_up"));
  double eps = w.family.eps;
  for (const char* key : {"layer_norm_eps", "rms_norm_eps"}) {
    PUNA_TRY(eps, w.part.real(key, eps));
  }
  PUNA_TRY(Config whole, Config::parse(w.texts.config.json().dump()));
  PUNA_TRY(const uint64_t width, whole.count("hidden_size"));
  set("projection_dim", width);
  set("embedding_length", w.hidden);
  set("feed_forward_length", ffn);
  set("block_count", w.n_layers);
  set("attention.head_count", heads);
  set("attention.layer_norm_epsilon", eps);
  w.m.set(fmt::format("has_{}_encoder", sense), true);
  const bool own_key = w.family.kind.starts_with("gemma4");  // which has another for each sense
  w.m.set(own_key ? sense + ".projector_type" : "projector_type", std::string(w.family.kind));
  if (w.family.sounds) return {};
  PUNA_TRY(std::vector<double> mean, colour(w.texts.preprocessor, "image_mean", w.family.mean));
  PUNA_TRY(std::vector<double> std, colour(w.texts.preprocessor, "image_std", w.family.std));
  set("image_mean", std::move(mean));
  set("image_std", std::move(std));
  return {};
}

Result<void> map_family(Mapping& m, const EncoderFamily& family, const EncoderTexts& texts) {
  Work w{.m = m,
         .family = family,
         .texts = texts,
         .part = Config(*part_of(texts.config, family.sounds))};
  PUNA_TRY(w.n_layers, count_layers(w));
  if (w.n_layers == 0 || w.n_layers > kMostLayers) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The encoder of config.json has {} blocks, but 1 to {} are "
                                  "expected.",
                                  w.n_layers, kMostLayers));
  }
  PUNA_TRY(w.hidden, rows_of(w, family.modules.front().gguf));
  PUNA_TRY(family.complete(w));
  PUNA_TRY(put_keys(w));
  const char* const prefix = family.sounds ? "a" : "v";
  for (const Rename& each : family.others) {
    for (const char* part : {".weight", ".bias"})
      PUNA_TRY(m.rename(std::string(each.hf) + part, std::string(each.gguf) + part, each.how));
  }
  for (uint64_t l = 0; l < w.n_layers; ++l) {
    const std::string layer = fmt::format(fmt::runtime(family.layer), l);
    for (const Rename& each : family.modules) {
      for (const char* part : {".weight", ".bias"}) {
        PUNA_TRY(m.rename(layer + std::string(each.hf) + part,
                          fmt::format("{}.blk.{}.{}{}", prefix, l, each.gguf, part), each.how));
      }
    }
  }
  return {};
}

}  // namespace

bool has_encoder(const Config& config) { return !find_families(config).empty(); }

Result<ModelFile> map_encoder(std::string name, const EncoderTexts& texts, RawModel raw) {
  const std::vector<const EncoderFamily*> families = find_families(texts.config);
  if (families.empty()) {
    std::string known;
    for (const EncoderFamily& each : kFamilies) {
      if (!known.ends_with(each.model_type))
        known += (known.empty() ? "" : ", ") + std::string(each.model_type);
    }
    return base::fail(
        ErrorCode::kUnsupported,
        fmt::format(
            "The model type \"{}\" of config.json has no encoder of pictures or sounds that "
            "is known (known: {}).",
            texts.config.text("model_type", "").value_or(""), known));
  }
  keep_encoders(raw, families);
  Mapping m(std::move(name), "clip", texts.config, std::move(raw));
  m.set_general("general.type", std::string("mmproj"));
  for (const EncoderFamily* family : families) PUNA_TRY(map_family(m, *family, texts));
  m.ignore(kTextTable);
  return m.finish();
}
}  // namespace puna::formats::hf
