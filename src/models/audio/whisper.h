// Whisper's encoder (Radford et al. 2022), which models of sounds share: two convolutions over mel
// frames and pre-norm blocks, up to the norm behind the last one.
#pragma once

#include <optional>

#include "models/vision/blocks.h"
#include "models/vision/encoder.h"
#include "plan/builder.h"

namespace puna::models {

struct WhisperRows {
  plan::Value x;                        // what the last block gives
  std::optional<plan::Value> sounding;  // SoundRecipe::partly: 1 in rows of the sound, else 0
};
WhisperRows whisper_rows(plan::Builder& b, const EncoderConfig& c);

}  // namespace puna::models
