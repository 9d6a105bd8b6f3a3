// Log-mel spectrograms as the feature extractors of models make them: Whisper's, which most share,
// and Gemma 4's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "media/sound.h"

namespace puna::media {

inline constexpr uint32_t kMelWindowSeconds = 30;
inline constexpr uint32_t kMelFrames = 3000;  // a window of 30 s has, one each 10 ms

enum class MelKind : uint8_t {
  // Each frame is the power spectrum of 400 samples under a periodic Hann window, the sound
  // mirrored at both ends of sound and silence; of the mel bins (Slaney's scale and norm) the
  // logarithm to base 10, at least 1e-10 and at least the largest value of the whole sound less 8,
  // plus 4, over 4. Source: transformers, feature_extraction_whisper.
  kWhisper,
  // Each frame is the spectrum (absolute values) of 320 samples under a periodic Hann window, and
  // zeros up to 512, the first with 160 zeros before the sound; of the mel bins (HTK's scale,
  // triangles of height 1) the natural logarithm of the sum and 1e-3. There are no frames beyond
  // the end, so a sound of less than 161 samples has none, and windows know nothing of each other.
  // Source: transformers, feature_extraction_gemma4.
  kGemma4,
};

struct MelRecipe {
  uint32_t n_bins = 0;  // between 0 and 8000 Hz, above 0 and at most 512
  // Silence is added up to a multiple of so many seconds; 0: up to a whole frame.
  uint32_t padded_seconds = kMelWindowSeconds;  // of kWhisper
  MelKind kind = MelKind::kWhisper;
};

// One window of 30 seconds. Where silence is added up to the end of windows it has all their
// frames, else those of the sound.
struct MelWindow {
  uint32_t n_bins = 0, n_frames = 0;
  uint32_t n_sounding = 0;    // frames that begin before the sound ends
  std::vector<float> values;  // [n_bins, n_frames]
};

// The windows of a sound. Errors: kInvalidArgument when the sound has no samples or the recipe is
// outside its bounds.
base::Result<std::vector<MelWindow>> log_mel(const Sound& sound, const MelRecipe& recipe);

}  // namespace puna::media
