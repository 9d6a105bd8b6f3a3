// A sound as the bytes of a WAV file, for who takes files.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace puna::media {

// Of one channel at kSampleRate, in f32, so that decode_sound() gives the same samples. At most
// 2^29 of them.
std::vector<std::byte> wav_file(std::span<const float> samples);

}  // namespace puna::media
