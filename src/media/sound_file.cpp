#include "media/sound_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "media/file_errors.h"

namespace puna::media {

using base::ErrorCode;
using base::fail;
using base::Result;

SoundSink::SoundSink(std::string_view format, uint32_t rate, uint32_t n_channels,
                     const SoundLimits& limits)
    : format_(format), rate_(rate), n_channels_(n_channels), limits_(limits) {}

Result<SoundSink> SoundSink::open(std::string_view format, uint32_t rate, uint32_t n_channels,
                                  const SoundLimits& limits) {
  constexpr uint32_t kMinRate = 1000;
  constexpr uint32_t kMaxChannels = 32;
  if (rate < kMinRate || !Resampler::can(rate, kSampleRate)) {
    return unsupported_file(format,
                            fmt::format("has {} samples a second, which is not read", rate));
  }
  if (n_channels == 0 || n_channels > kMaxChannels) {
    return unsupported_file(
        format, fmt::format("has {} channels, where 1 to {} are read", n_channels, kMaxChannels));
  }
  return SoundSink(format, rate, n_channels, limits);
}

Result<void> SoundSink::expect(uint64_t n_frames) const {
  // Divided, as what a header says times the rate, or the channels, could run over.
  const uint64_t seconds = n_frames / rate_;
  if (seconds > limits_.max_seconds || (seconds == limits_.max_seconds && n_frames % rate_ != 0)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("The {} sound is {} seconds long or longer, which is more than {}.",
                            format_, seconds, limits_.max_seconds));
  }
  if (n_frames > limits_.max_samples / n_channels_) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("The {} sound has {} samples or more of each of {} channels, which are "
                            "more than {} together.",
                            format_, n_frames, n_channels_, limits_.max_samples));
  }
  return limits_.may_last ? limits_.may_last(seconds) : Result<void>();
}

Result<void> SoundSink::put(std::span<const float> frames) {
  n_frames_ += frames.size() / n_channels_;
  PUNA_TRY(expect(n_frames_));
  if (!std::ranges::all_of(frames, [](float sample) { return std::isfinite(sample); })) {
    return corrupt_file(format_, "has a sample that is no number");
  }
  if (!resampler_) resampler_.emplace(rate_, kSampleRate);
  if (n_channels_ == 1) {
    resampler_->put(frames, sound_.samples);
    return {};
  }
  mono_.clear();
  for (size_t at = 0; at + n_channels_ <= frames.size(); at += n_channels_) {
    float sum = 0;
    for (uint32_t channel = 0; channel < n_channels_; ++channel) sum += frames[at + channel];
    mono_.push_back(sum / static_cast<float>(n_channels_));
  }
  resampler_->put(mono_, sound_.samples);
  return {};
}

Result<Sound> SoundSink::finish() {
  if (n_frames_ == 0) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("The {} sound has no samples.", format_));
  }
  resampler_->finish(sound_.samples);
  return std::move(sound_);
}

}  // namespace puna::media
