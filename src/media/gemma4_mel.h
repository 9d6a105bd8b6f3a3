// Spectrograms as Gemma 4's feature extractor makes them.
#pragma once

#include <vector>

#include "media/mel.h"

namespace puna::media {

// Windows of 30 seconds, each by itself, of a sound that has samples; MelKind::kGemma4 says how.
std::vector<MelWindow> gemma4_mel(const Sound& sound, uint32_t n_bins);

}  // namespace puna::media
