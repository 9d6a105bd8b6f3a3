// A family of encoders: what maps a folder of it. encoders.cpp has the table of the models that are
// of each. Each file beside this one has a family, or those that name their layers alike;
// siglip.cpp is the plainest. Read first: encoders.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "formats/hf/encoders/encoders.h"
#include "formats/hf/mapping.h"

namespace puna::formats::hf {

// What pixels are normed by, for each colour.
using Colour = std::array<double, 3>;
inline constexpr Colour kHalf = {0.5, 0.5, 0.5};
inline constexpr Colour kClipMean = {0.48145466, 0.4578275, 0.40821073};
inline constexpr Colour kClipStd = {0.26862954, 0.26130258, 0.27577711};
inline constexpr Colour kImageNetMean = {0.485, 0.456, 0.406}, kImageNetStd = {0.229, 0.224, 0.225};

// Of the text model, whose table of embeddings may have a row that an encoder needs.
inline constexpr std::string_view kTextTable = "embed_tokens.weight";

struct EncoderFamily;

// What maps one folder: the mapping and the parts of config.json.
struct EncoderWork {
  Mapping& m;
  const EncoderFamily& family;
  const EncoderTexts& texts;
  Config part;  // vision_config or audio_config
  uint64_t n_layers = 0, hidden = 0;
};

struct EncoderFamily {
  std::string_view kind;  // clip.projector_type
  bool sounds = false;
  std::string_view layer;           // the folder's prefix of a layer's modules, {} for its number
  std::span<const Rename> modules;  // of a layer
  std::span<const Rename> others;   // names in full but for ".weight" and ".bias"
  double eps;                       // where config.json does not say
  Colour mean = {0, 0, 0}, std = {1, 1, 1};
  base::Result<void> (*complete)(EncoderWork& w);
};

// The sizes of pictures and patches, which must be squares. Errors: kNotFound, kUnsupported.
base::Result<void> put_square(EncoderWork& w);
// The function between the two halves of a block; `otherwise` where config.json names none. Errors:
// kUnsupported.
base::Result<void> put_activation(EncoderWork& w, std::string_view otherwise);

extern const EncoderFamily kGemma3Encoder;
extern const EncoderFamily kGemma4Encoder;
extern const EncoderFamily kGemma4SoundEncoder;
extern const EncoderFamily kIdefics3Encoder;
extern const EncoderFamily kInternEncoder;
extern const EncoderFamily kLlavaEncoder;
extern const EncoderFamily kPixtralEncoder;
extern const EncoderFamily kQwen25Encoder;
extern const EncoderFamily kQwen3Encoder;
extern const EncoderFamily kVoxtralEncoder;

}  // namespace puna::formats::hf
