// What the decoders of sounds share: where a file's samples go as they are decoded, and the
// decoders themselves, called by the table in sound.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "media/resampler.h"
#include "media/sound.h"

namespace puna::media {

// Makes one channel of a file's, at kSampleRate, as far as the limits allow.
class SoundSink {
 public:
  // Errors: kUnsupported when there are no channels or more than 32, or the rate is none that is
  // read.
  static base::Result<SoundSink> open(std::string_view format, uint32_t rate, uint32_t n_channels,
                                      const SoundLimits& limits);

  // To be asked when the file says how many frames (a sample of each channel) it has.
  // Errors: kInvalidArgument when they last longer, or are more samples, than a limit (with both
  // numbers); those of SoundLimits::may_last.
  base::Result<void> expect(uint64_t n_frames) const;

  // Takes frames of n_channels samples. Errors: as expect(), once there have been too many;
  // kCorrupt where a sample is no number.
  base::Result<void> put(std::span<const float> frames);

  uint64_t n_frames() const { return n_frames_; }

  // What was heard. Errors: kInvalidArgument when there were no frames.
  base::Result<Sound> finish();

 private:
  SoundSink(std::string_view format, uint32_t rate, uint32_t n_channels, const SoundLimits& limits);

  std::string_view format_;
  uint32_t rate_;
  uint32_t n_channels_;
  SoundLimits limits_;
  std::optional<Resampler> resampler_;  // once there is something to resample
  uint64_t n_frames_ = 0;
  std::vector<float> mono_;
  Sound sound_;
};

base::Result<Sound> decode_wav(std::span<const std::byte> file, const SoundLimits& limits);
base::Result<Sound> decode_mp3(std::span<const std::byte> file, const SoundLimits& limits);
base::Result<Sound> decode_flac(std::span<const std::byte> file, const SoundLimits& limits);
base::Result<Sound> decode_vorbis(std::span<const std::byte> file, const SoundLimits& limits);

}  // namespace puna::media
