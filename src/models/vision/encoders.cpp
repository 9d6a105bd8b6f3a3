#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "models/models.h"
#include "models/vision/arrange.h"
#include "models/vision/blocks.h"
#include "models/vision/encoder.h"
#include "models/vision/pieces.h"

namespace puna::models {

using base::ErrorCode;
using base::Result;
using formats::ModelFile;

namespace {

constexpr EncoderKind kKinds[] = {
    {"gemma3", Sense::kPictures, read_gemma3_encoder, arrange_gemma3_encoder, build_gemma3_encoder,
     gemma3_pieces},
    {"gemma4v", Sense::kPictures, read_gemma4_encoder, arrange_gemma4_encoder, build_gemma4_encoder,
     gemma4_pieces},
    {"idefics3", Sense::kPictures, read_idefics3_encoder, arrange_patches, build_idefics3_encoder,
     idefics3_pieces},
    {"internvl", Sense::kPictures, read_internvl_encoder, arrange_patches, build_internvl_encoder,
     internvl_pieces},
    {"mlp", Sense::kPictures, read_llava_encoder, arrange_patches, build_llava_encoder,
     llava_pieces},
    {"pixtral", Sense::kPictures, read_pixtral_encoder, arrange_patches, build_pixtral_encoder,
     pixtral_pieces},
    {"qwen2.5o", Sense::kPictures, read_qwen2_5_vl_encoder, arrange_patches,
     build_qwen2_5_vl_encoder, qwen_omni_pieces},
    {"qwen2.5vl_merger", Sense::kPictures, read_qwen2_5_vl_encoder, arrange_patches,
     build_qwen2_5_vl_encoder, qwen_pieces},
    {"qwen2vl_merger", Sense::kPictures, read_qwen2_vl_encoder, arrange_patches,
     build_qwen2_5_vl_encoder, qwen_pieces},
    {"qwen3vl_merger", Sense::kPictures, read_qwen3_vl_encoder, arrange_patches,
     build_qwen3_vl_encoder, qwen_pieces},
    {"gemma4a", Sense::kSounds, read_gemma4_audio_encoder, arrange_gemma4_audio_encoder,
     build_gemma4_audio_encoder, gemma4_audio_pieces},
    {"qwen2.5o", Sense::kSounds, read_qwen2_omni_encoder, arrange_whisper_encoder,
     build_qwen2_audio_encoder, qwen_audio_pieces},
    {"qwen2a", Sense::kSounds, read_qwen2_audio_encoder, arrange_whisper_encoder,
     build_qwen2_audio_encoder, qwen_audio_pieces},
    {"ultravox", Sense::kSounds, read_ultravox_encoder, arrange_ultravox_encoder,
     build_ultravox_encoder, ultravox_pieces},
    {"voxtral", Sense::kSounds, read_voxtral_encoder, arrange_whisper_encoder,
     build_voxtral_encoder, voxtral_pieces},
};

// Bounds that no real encoder comes near, so that products of them cannot overflow.
constexpr uint64_t kMostLayers = 4096, kMostWidth = 1 << 20, kMostHeads = 1 << 14,
                   kMostPixels = 1 << 14, kMostBins = 512;

const char* of(Sense sense) { return sense == Sense::kPictures ? "vision" : "audio"; }
const char* plural(Sense sense) { return sense == Sense::kPictures ? "pictures" : "sounds"; }

const EncoderKind* kind_named(std::string_view name, Sense sense) {
  const auto found = std::ranges::find_if(
      kKinds, [&](const EncoderKind& kind) { return kind.name == name && kind.sense == sense; });
  return found != std::end(kKinds) ? found : nullptr;
}

Result<uint32_t> bounded_count(const ModelFile& file, const std::string& key, uint64_t limit) {
  PUNA_TRY(const uint64_t value, file.get_uint(key));
  return bounded(key, value, limit);
}

Result<std::array<float, 3>> colour(const ModelFile& file, const std::string& key) {
  const formats::Value* value = file.find(key);
  if (!value)
    return base::fail(ErrorCode::kNotFound, fmt::format("The key \"{}\" is missing.", key));
  PUNA_TRY(const auto values, formats::as_floats(key, *value));
  if (values.size() != 3) {
    return base::fail(ErrorCode::kCorrupt, fmt::format("The key \"{}\" lists {} values for three "
                                                       "colours.",
                                                       key, values.size()));
  }
  std::array<float, 3> out;
  std::ranges::transform(values, out.begin(), [](double v) { return static_cast<float>(v); });
  return out;
}

Result<void> read_picture_keys(const ModelFile& file, EncoderConfig& c) {
  PUNA_TRY(c.image_size, bounded_count(file, "clip.vision.image_size", kMostPixels));
  PUNA_TRY(c.patch_size, bounded_count(file, "clip.vision.patch_size", c.image_size));
  PUNA_TRY(c.mean, colour(file, "clip.vision.image_mean"));
  PUNA_TRY(c.std, colour(file, "clip.vision.image_std"));
  if (std::ranges::any_of(c.std, [](float v) { return !(v > 0); })) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The key \"clip.vision.image_std\" lists {}; each must be above "
                                  "0.",
                                  fmt::join(c.std, ", ")));
  }
  return {};
}

Result<kernels::Activation> read_activation(const ModelFile& file) {
  PUNA_TRY(const bool gelu, file.get_bool("clip.use_gelu", false));
  PUNA_TRY(const bool silu, file.get_bool("clip.use_silu", false));
  if (gelu && silu) {
    return base::fail(ErrorCode::kCorrupt,
                      "The keys \"clip.use_gelu\" and \"clip.use_silu\" are both true.");
  }
  return gelu   ? kernels::Activation::kGeluTanh
         : silu ? kernels::Activation::kSilu
                : kernels::Activation::kGeluQuick;
}

// Cells must cover the one size of the encoder.
Result<void> check_size(const EncoderConfig& c) {
  if (c.rows.any_size) return {};
  const uint32_t cell = c.patch_size * c.rows.merge;
  if (c.image_size % cell == 0) return {};
  return base::fail(ErrorCode::kCorrupt,
                    fmt::format("Pictures of {} pixels are no whole number of {} x {} patches of "
                                "{}.",
                                c.image_size, c.rows.merge, c.rows.merge, c.patch_size));
}

// Tensors that files have and encoders of these kinds do not need: the norm after blocks of which
// the last are left out, the row that ends the lines of pictures cut into tiles by LLaVA 1.6.
bool is_spare(std::string_view name, const EncoderConfig& c) {
  if (c.projector.kind != "mlp") return false;
  if (name.starts_with("v.post_ln.")) return true;
  for (uint32_t l = c.n_layers; name.starts_with("v.blk.") && l < kMostLayers; ++l) {
    if (name.starts_with(fmt::format("v.blk.{}.", l))) return true;
  }
  return false;
}

// Passing over a tensor of the encoder would give wrong numbers.
Result<void> check_all_read(const ModelFile& file, const plan::Graph& graph,
                            const EncoderConfig& c) {
  std::set<uint32_t> read;
  for (const plan::WeightSpec& weight : graph.weights)
    read.insert(weight.tensors.begin(), weight.tensors.end());
  for (const plan::VectorSpec& vector : graph.vectors)
    read.insert(vector.tensors.begin(), vector.tensors.end());
  const std::vector<std::string> tables = encoder_tables(c);
  const bool sounds = c.projector.sense == Sense::kSounds;
  for (uint32_t i = 0; i < file.tensors.size(); ++i) {
    const std::string& name = file.tensors[i].name;
    const bool of_sounds = name.starts_with("a.") || name.starts_with("mm.a.");
    if (of_sounds != sounds || read.contains(i) || std::ranges::count(tables, name) != 0 ||
        is_spare(name, c)) {
      continue;
    }
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The tensor \"{}\" is nothing that an encoder of the kind {} is "
                                  "known to have.",
                                  name, c.projector.kind));
  }
  return {};
}

}  // namespace

std::span<const EncoderKind> encoder_kinds() { return kKinds; }

bool has_encoder(const ModelFile& file, Sense sense) {
  const auto has = file.get_bool(fmt::format("clip.has_{}_encoder", of(sense)), false);
  return has && *has;
}

Result<Projector> read_projector(const ModelFile& file, Sense sense) {
  PUNA_TRY(EncoderConfig config, read_encoder(file, sense));
  return std::move(config.projector);
}

Result<EncoderConfig> read_encoder(const ModelFile& file, Sense sense) {
  PUNA_TRY(const std::string architecture, file.get_string("general.architecture"));
  if (architecture != "clip") {
    return base::fail(ErrorCode::kInvalidArgument,
                      fmt::format("The file {} holds a model of the architecture {}, no encoder "
                                  "of pictures or sounds (clip).",
                                  file.name, architecture));
  }
  if (!has_encoder(file, sense)) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("The file {} has no encoder of {}.", file.name, plural(sense)));
  }
  const std::string own = fmt::format("clip.{}.projector_type", of(sense));
  EncoderConfig c;
  c.projector.sense = sense;
  PUNA_TRY(c.projector.kind, file.get_string(file.find(own) ? own : "clip.projector_type"));
  const EncoderKind* const kind = kind_named(c.projector.kind, sense);
  if (!kind) {
    std::vector<std::string_view> names;
    for (const EncoderKind& k : kKinds) {
      if (k.sense == sense) names.push_back(k.name);
    }
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("Encoders of {} of the kind \"{}\" are not supported; these are: "
                                  "{}.",
                                  plural(sense), c.projector.kind, fmt::join(names, ", ")));
  }
  const std::string prefix = fmt::format("clip.{}.", of(sense));
  c.prefix = sense == Sense::kPictures ? "v" : "a";
  PUNA_TRY(c.projector.width, bounded_count(file, prefix + "projection_dim", kMostWidth));
  PUNA_TRY(c.n_layers, bounded_count(file, prefix + "block_count", kMostLayers));
  PUNA_TRY(c.hidden, bounded_count(file, prefix + "embedding_length", kMostWidth));
  PUNA_TRY(c.ffn, bounded_count(file, prefix + "feed_forward_length", kMostWidth));
  PUNA_TRY(c.n_heads, bounded_count(file, prefix + "attention.head_count", kMostHeads));
  PUNA_TRY(c.eps, positive(file, prefix + "attention.layer_norm_epsilon", 1e-6));
  if (c.hidden % c.n_heads != 0 || c.head_dim() % 4 != 0) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("Rows of {} values are divided among {} heads; heads must have "
                                  "a multiple of 4.",
                                  c.hidden, c.n_heads));
  }
  PUNA_TRY(c.activation, read_activation(file));
  if (sense == Sense::kPictures) {
    PUNA_TRY(read_picture_keys(file, c));
  } else {
    PUNA_TRY(c.n_bins, bounded_count(file, "clip.audio.num_mel_bins", kMostBins));
    c.activation = kernels::Activation::kGeluErf;  // Whisper's; files have no key for it
  }
  PUNA_TRY(kind->read(file, c));
  if (sense == Sense::kPictures) PUNA_TRY(check_size(c));
  return c;
}

Result<void> arrange_patches(ModelFile& file, const EncoderConfig& c) {
  const uint64_t columns = 3 * uint64_t{c.patch_size} * c.patch_size;
  for (const char* name : {"v.patch_embd.weight", "v.patch_embd.weight.1"})
    PUNA_TRY(reshape_tensor(file, name, {c.hidden, columns}));
  return {};
}

Result<void> arrange_encoder(ModelFile& file, const EncoderConfig& c) {
  return kind_named(c.projector.kind, c.projector.sense)->arrange(file, c);
}

Result<plan::Graph> build_encoder(const ModelFile& file, const EncoderConfig& c) {
  PUNA_TRY(plan::Graph graph, kind_named(c.projector.kind, c.projector.sense)->build(file, c));
  if (graph.n_out() != c.projector.row_width()) {
    return base::fail(ErrorCode::kCorrupt,
                      fmt::format("The encoder gives rows of {} values, but its keys say {}.",
                                  graph.n_out(), c.projector.row_width()));
  }
  PUNA_TRY(check_all_read(file, graph, c));
  return graph;
}

std::vector<MediaPiece> pieces(const Projector& projector, const MediaShape& shape) {
  return kind_named(projector.kind, projector.sense)->pieces(shape);
}

Result<void> check_fits(const Projector& projector, const std::string& mmproj, uint32_t hidden,
                        const std::string& model) {
  if (projector.width == hidden) return {};
  return base::fail(ErrorCode::kInvalidArgument,
                    fmt::format("The encoder {} gives rows of {} values, but {} reads rows of {}: "
                                "it belongs to another model.",
                                mmproj, projector.width, model, hidden));
}

}  // namespace puna::models
