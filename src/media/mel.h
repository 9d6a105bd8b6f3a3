// Log-mel spectrograms as Whisper's feature extractor makes them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "media/sound.h"

namespace puna::media {

inline constexpr uint32_t kMelWindowSeconds = 30;
inline constexpr uint32_t kMelFrames = 3000;  // a window of 30 s has, one each 10 ms

// One window of 30 seconds.
struct MelWindow {
  uint32_t n_bins = 0;
  std::vector<float> values;  // [n_bins, kMelFrames]
};

// The windows of a sound, silence added up to the end of the last one.
//   n_bins  mel bins between 0 and 8000 Hz, above 0 and at most 512
// Each frame is the power spectrum of 400 samples under a periodic Hann window, the sound mirrored
// at both ends; of the mel bins (Slaney's scale and norm) the logarithm to base 10, at least 1e-10
// and at least the largest value of the whole sound less 8, plus 4, over 4.
// Errors: kInvalidArgument when the sound has no samples or n_bins is outside its bounds.
// Source: transformers, feature_extraction_whisper.
base::Result<std::vector<MelWindow>> log_mel(const Sound& sound, uint32_t n_bins);

}  // namespace puna::media
