// Files of sounds to samples: WAV, MP3, FLAC and Ogg Vorbis, told apart by what they begin with,
// never by a name. Channels are averaged and the rate is changed to what encoders hear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace puna::media {

inline constexpr uint32_t kSampleRate = 16000;  // Hz

struct Sound {
  std::vector<float> samples;  // one channel at kSampleRate, full scale at 1
};

// What a decoder may be asked for, whatever a file says of itself.
struct SoundLimits {
  uint64_t max_file_bytes = uint64_t{512} << 20;
  uint32_t max_seconds = 30 * 60;
  // Of all channels together, at the rate of the file: what decoding takes its time for. Half an
  // hour of two channels at 48 kHz.
  uint64_t max_samples = uint64_t{30} * 60 * 48000 * 2;
  // Told how many whole seconds the sound lasts at least, by its header before anything is decoded
  // and as it is decoded; an error ends that. Null: nobody is told.
  std::function<base::Result<void>(uint64_t seconds)> may_last = {};
};

// "WAV", "MP3", "FLAC" or "Ogg Vorbis"; empty where the bytes begin like none of them.
std::string_view sound_format(std::span<const std::byte> file);

// The file's samples. A header that claims more than the limit is refused before anything is
// allocated; a file without a length in its header, once it goes past the limit.
// Errors: kInvalidArgument when the file is empty, has no samples or is larger or longer than a
// limit or has more samples (with both numbers), kUnsupported when it is of no known format,
// kCorrupt when it ends early or breaks its format; those of limits.may_last.
base::Result<Sound> decode_sound(std::span<const std::byte> file, const SoundLimits& limits = {});

}  // namespace puna::media
