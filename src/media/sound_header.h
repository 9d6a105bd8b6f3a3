// What sounds say of themselves that miniaudio does not take in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace puna::media {

// What an MP3 encoder notes in its first frame, which holds no sound. All in samples of each
// channel.
struct Mp3Note {
  uint64_t n_before = 0;   // before the sound: that frame and what filters delay by
  uint64_t n_samples = 0;  // of the sound
  uint64_t n_after = 0;    // after it, up to the end of the last frame
};

// Nothing where the file has no note with a number of frames.
// Source: the LAME project's "Mp3 Info Tag revision 1".
std::optional<Mp3Note> mp3_note(std::span<const std::byte> file);

// Whether the samples of a WAV file are bytes, which have 128 for silence.
bool wav_has_bytes(std::span<const std::byte> file);

}  // namespace puna::media
